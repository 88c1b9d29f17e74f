"""Providers by name: where each is, what it speaks, and where its key comes from. Pure.

Ready-made profiles of what people run, read on 2026-12-01 from the page that each names; `[providers.NAME]` of the
user's settings lays over them or adds others. A key goes to its provider's origin only (`keys.py`). What a Chat
Completions server can't take is learned from its refusals (`responses_server/engines/upstream/profile.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from agent_core.errors import ConfigError

Wire = Literal["responses", "chat"]


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`base_url` "": it differs from user to user. `key_env`: variable with the key, "" where there is none. `wire`:
    `chat` goes through the embedded service, which speaks Responses to us and what the provider has to the provider.
    `model`: what is used where none is named, "": the only one that it lists. `models`: what it is known to have,
    where it gives no list."""

    base_url: str = ""
    key_env: str = ""
    wire: Wire = "chat"
    model: str = ""
    models: tuple[str, ...] = ()
    source: str = ""


PROVIDERS: Final[Mapping[str, Provider]] = {
    "openai": Provider(
        base_url="https://api.openai.com/v1", key_env="OPENAI_API_KEY", wire="responses", model="gpt-5.5",
        source="https://developers.openai.com/api/docs/models",
    ),
    "azure": Provider(
        key_env="AZURE_OPENAI_API_KEY", wire="responses",
        source="https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
    ),
    "openrouter": Provider(
        base_url="https://openrouter.ai/api/v1", key_env="OPENROUTER_API_KEY", model="openai/gpt-5.5",
        source="https://openrouter.ai/docs/api-reference/overview",
    ),
    "groq": Provider(
        base_url="https://api.groq.com/openai/v1", key_env="GROQ_API_KEY", model="openai/gpt-oss-120b",
        source="https://console.groq.com/docs/openai",
    ),
    "cerebras": Provider(
        base_url="https://api.cerebras.ai/v1", key_env="CEREBRAS_API_KEY", model="gpt-oss-120b",
        source="https://inference-docs.cerebras.ai/resources/openai",
    ),
    "deepseek": Provider(
        base_url="https://api.deepseek.com/v1", key_env="DEEPSEEK_API_KEY", model="deepseek-v4-pro",
        source="https://api-docs.deepseek.com",
    ),
    "mistral": Provider(
        base_url="https://api.mistral.ai/v1", key_env="MISTRAL_API_KEY", model="mistral-medium-latest",
        source="https://docs.mistral.ai/api",
    ),
    "ollama": Provider(base_url="http://127.0.0.1:11434/v1", source="https://docs.ollama.com/api/openai-compatibility"),
    "llama-server": Provider(
        base_url="http://127.0.0.1:8080/v1", source="https://github.com/ggml-org/llama.cpp/tree/master/tools/server",
    ),
    "vllm": Provider(
        base_url="http://127.0.0.1:8000/v1", key_env="VLLM_API_KEY",
        source="https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
    ),
    "lmstudio": Provider(base_url="http://127.0.0.1:1234/v1", source="https://lmstudio.ai/docs/developer/openai-compat"),
    "litellm": Provider(
        base_url="http://127.0.0.1:4000/v1", key_env="LITELLM_API_KEY", source="https://docs.litellm.ai/docs/simple_proxy",
    ),
}  # fmt: skip


def provider_of(name: str, own: Mapping[str, Mapping[str, Any]]) -> Provider:
    """The profile of that name with the user's own table over it. Raises ConfigError for a name that nobody knows, and
    for a table that can't be read."""
    if name not in PROVIDERS and name not in own:
        known, hint = ", ".join(sorted({*PROVIDERS, *own})), f"or add [providers.{name[:60]}]"
        raise ConfigError("settings", "provider", f"one of {known}", got=repr(name[:60]), hint=hint)
    known_fields = msgspec.structs.asdict(PROVIDERS.get(name, Provider()))
    try:
        return msgspec.convert({**known_fields, **own.get(name, {})}, Provider)
    except msgspec.ValidationError as error:
        expected = "a table of base_url, key_env, wire (responses or chat), model, models"
        raise ConfigError("settings", f"providers.{name}", expected, got=str(error)) from error
