"""What is publicly known of model families: one row each, the first whose name fits counts.

Data. Facts were read on 2026-12-01 from the page that a row names; what no public page of the vendor confirmed is in
`unconfirmed` and was chosen so that a request is refused by nobody. Sizes, pictures and prices beside vendors' pages:
BerriAI/litellm, `model_prices_and_context_window` of release 1.110.2. Prices themselves: `telemetry/rollup/prices.py`.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from agent_core.config.settings import Effort

EditTool = Literal["edit", "patch", "apply_patch"]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """`names` are beginnings of a model's name, without vendor, in lower case. `provider`: who makes it.

    `context_tokens`: input that fits, None where it is not known. `efforts`: what `reasoning.effort` takes, weakest
    first; empty: the field is refused or does nothing. `summaries`: asks for `reasoning.summary` are taken. `calls`:
    several tool calls in one reply; None: not known. `edit_tool`: what it edits best with; `apply_patch` is the
    free-form tool that OpenAI's models are trained on.
    """

    family: str
    names: tuple[str, ...]
    provider: str
    source: str
    context_tokens: int | None
    reasoning: bool = False
    efforts: tuple[Effort, ...] = ()
    summaries: bool = False
    images: bool = False
    calls: bool | None = None
    edit_tool: EditTool = "edit"
    unconfirmed: tuple[str, ...] = ()


_LOW: tuple[Effort, ...] = ("low", "medium", "high")
_TO_XHIGH: tuple[Effort, ...] = (*_LOW, "xhigh")
_OPENAI: Final = "https://developers.openai.com/api/docs/models"
_EFFORT: Final = "https://developers.openai.com/api/docs/guides/reasoning"
_PATCH: Final = "https://developers.openai.com/api/docs/guides/tools-apply-patch"
_CLAUDE: Final = "https://platform.claude.com/docs/en/build-with-claude/effort"


def _gpt(family: str, *names: str, context_tokens: int = 272_000, efforts: tuple[Effort, ...], source: str) -> Family:
    """A reasoning model of OpenAI's: they share all but size and levels."""
    return Family(
        family=family, names=names, provider="openai", context_tokens=context_tokens, reasoning=True,
        efforts=efforts, summaries=True, images=True, calls=True, edit_tool="apply_patch",
        source=f"{source} {_PATCH}",
    )  # fmt: skip


FAMILIES: Final[tuple[Family, ...]] = (
    _gpt("gpt-6 sol, luna, terra", "gpt-6-sol", "gpt-6-luna", "gpt-6.1-terra", context_tokens=922_000,
         efforts=("none", *_TO_XHIGH), source=f"{_OPENAI}/gpt-6-sol"),
    _gpt("gpt-6", "gpt-6", context_tokens=922_000, efforts=_TO_XHIGH, source=f"{_OPENAI}/gpt-6-astra"),
    _gpt("gpt-5.6", "gpt-5.6", context_tokens=922_000, efforts=("none", *_TO_XHIGH), source=f"{_OPENAI}/gpt-5.6"),
    _gpt("gpt-5.4, 5.5", "gpt-5.4", "gpt-5.5", context_tokens=1_050_000, efforts=("none", *_TO_XHIGH),
         source=f"{_OPENAI}/gpt-5.5"),
    _gpt("gpt-5.2 and 5.3 codex", "gpt-5.3-codex", "gpt-5.2-codex", efforts=_TO_XHIGH,
         source=f"{_OPENAI}/gpt-5.3-codex"),
    _gpt("gpt-5.2", "gpt-5.2", "gpt-5.3", efforts=("none", *_TO_XHIGH), source=_EFFORT),
    _gpt("gpt-5.1 codex max", "gpt-5.1-codex-max", efforts=_TO_XHIGH, source="https://github.com/openai/codex/pull/7449"),
    _gpt("gpt-5.1 codex", "gpt-5.1-codex", efforts=_LOW, source=f"{_OPENAI}/gpt-5.1-codex"),
    Family(family="gpt-5 chat", names=("gpt-5-chat", "gpt-5.1-chat"), provider="openai", context_tokens=128_000,
           images=True, source=f"{_OPENAI}/gpt-5-chat-latest"),
    _gpt("gpt-5.1", "gpt-5.1", efforts=("none", *_LOW), source=_EFFORT),
    _gpt("gpt-5 pro", "gpt-5-pro", efforts=("high",), source=_EFFORT),
    _gpt("gpt-5 codex", "gpt-5-codex", efforts=_LOW, source=f"{_OPENAI}/gpt-5-codex"),
    _gpt("gpt-5", "gpt-5", efforts=("minimal", *_LOW), source=_EFFORT),
    Family(family="o3, o4", names=("o3", "o4"), provider="openai", context_tokens=200_000, reasoning=True,
           efforts=_LOW, summaries=True, images=True, calls=False, edit_tool="patch", source=f"{_OPENAI}/o3"),
    Family(family="gpt-4.1", names=("gpt-4.1",), provider="openai", context_tokens=1_047_576, images=True, calls=True,
           edit_tool="patch", source=f"{_OPENAI}/gpt-4.1"),
    Family(family="gpt-4o", names=("gpt-4o",), provider="openai", context_tokens=128_000, images=True, calls=True,
           source=f"{_OPENAI}/gpt-4o"),
    Family(family="gpt-oss", names=("gpt-oss",), provider="openai", context_tokens=131_072, reasoning=True,
           efforts=_LOW, calls=True, edit_tool="patch", source="https://lmstudio.ai/models/openai/gpt-oss-120b",
           unconfirmed=("edit_tool",)),
    Family(family="Claude with xhigh", provider="anthropic", context_tokens=1_000_000, reasoning=True,
           names=("claude-fable-5", "claude-mythos-5", "claude-opus-5", "claude-opus-4-8", "claude-opus-4-7",
                  "claude-sonnet-5", "claude-opus-4.7", "claude-opus-4.8"),
           efforts=_TO_XHIGH, images=True, calls=True, source=_CLAUDE),
    Family(family="Claude with effort", provider="anthropic", context_tokens=1_000_000, reasoning=True,
           names=("claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4.6", "claude-sonnet-4.6"),
           efforts=_LOW, images=True, calls=True, source=_CLAUDE),
    Family(family="Claude Opus 4.5", names=("claude-opus-4-5", "claude-opus-4.5"), provider="anthropic",
           context_tokens=200_000, reasoning=True, efforts=_LOW, images=True, calls=True, source=_CLAUDE),
    Family(family="Claude", names=("claude",), provider="anthropic", context_tokens=200_000, reasoning=True,
           images=True, calls=True, source="https://platform.claude.com/docs/en/about-claude/pricing",
           unconfirmed=("efforts",)),
    Family(family="Gemini 3 Flash", names=("gemini-3-flash",), provider="google", context_tokens=1_048_576,
           reasoning=True, efforts=("minimal", *_LOW), images=True, calls=True,
           source="https://ai.google.dev/gemini-api/docs/thinking"),
    Family(family="Gemini 3", names=("gemini-3",), provider="google", context_tokens=1_048_576, reasoning=True,
           efforts=("low", "high"), images=True, source="https://ai.google.dev/gemini-api/docs/thinking",
           unconfirmed=("calls",)),
    Family(family="Gemini 2.5", names=("gemini-2.5",), provider="google", context_tokens=1_048_576, reasoning=True,
           efforts=_LOW, images=True, calls=True, source="https://ai.google.dev/gemini-api/docs/openai"),
    Family(family="DeepSeek V4", names=("deepseek-v4",), provider="deepseek", context_tokens=1_000_000, reasoning=True,
           calls=True, source="https://api-docs.deepseek.com/quick_start/pricing", unconfirmed=("efforts",)),
    Family(family="DeepSeek reasoner", names=("deepseek-reasoner", "deepseek-r1"), provider="deepseek",
           context_tokens=131_072, reasoning=True, calls=False,
           source="https://api-docs.deepseek.com/quick_start/pricing"),
    Family(family="DeepSeek chat", names=("deepseek",), provider="deepseek", context_tokens=131_072, calls=True,
           source="https://api-docs.deepseek.com/quick_start/pricing"),
    Family(family="Qwen 3.5 and later", names=("qwen3.5", "qwen3.6", "qwen3.7", "qwen3.8", "qwen-3.8"), provider="qwen",
           context_tokens=262_144, reasoning=True, images=True,
           source="https://www.alibabacloud.com/help/en/model-studio/models",
           unconfirmed=("efforts", "calls", "context_tokens of what is hosted elsewhere")),
    Family(family="Qwen 3 Coder", names=("qwen3-coder", "qwen-3-coder"), provider="qwen", context_tokens=262_144,
           source="https://www.alibabacloud.com/help/en/model-studio/models", unconfirmed=("reasoning", "calls")),
    Family(family="Qwen 3", names=("qwen3", "qwen-3"), provider="qwen", context_tokens=131_072, reasoning=True,
           source="https://www.alibabacloud.com/help/en/model-studio/models", unconfirmed=("efforts", "calls")),
    Family(family="Qwen", names=("qwen",), provider="qwen", context_tokens=32_768,
           source="https://www.alibabacloud.com/help/en/model-studio/models", unconfirmed=("context_tokens", "calls")),
    Family(family="Kimi K3", names=("kimi-k3",), provider="moonshot", context_tokens=1_048_576, reasoning=True,
           efforts=("low", "high"), images=True, source="https://platform.kimi.ai/docs/pricing/chat-k3",
           unconfirmed=("calls",)),
    Family(family="Kimi K2.5 and later", names=("kimi-k2.5", "kimi-k2.6", "kimi-k2.7"), provider="moonshot",
           context_tokens=262_144, reasoning=True, images=True,
           source="https://platform.moonshot.ai/docs/guide/kimi-k2-5-quickstart", unconfirmed=("efforts", "calls")),
    Family(family="Kimi K2 Thinking", names=("kimi-k2-thinking",), provider="moonshot", context_tokens=262_144,
           reasoning=True, source="https://platform.moonshot.ai/docs/pricing/chat", unconfirmed=("efforts", "calls")),
    Family(family="Kimi", names=("kimi", "moonshot"), provider="moonshot", context_tokens=131_072,
           source="https://platform.moonshot.ai/docs/pricing/chat", unconfirmed=("context_tokens", "calls")),
    Family(family="GLM 5.2 and later", names=("glm-5.2", "glm-5.3"), provider="zai", context_tokens=1_000_000,
           reasoning=True, efforts=("none", "high"), source="https://docs.z.ai/guides/overview/pricing",
           unconfirmed=("efforts", "calls")),
    Family(family="GLM 5", names=("glm-5",), provider="zai", context_tokens=200_000, reasoning=True,
           efforts=("none", "high"), source="https://docs.z.ai/guides/overview/pricing",
           unconfirmed=("efforts", "calls")),
    Family(family="GLM 4", names=("glm-4", "zai-glm-4", "glm"), provider="zai", context_tokens=128_000, reasoning=True,
           source="https://docs.z.ai/guides/overview/pricing", unconfirmed=("efforts", "calls")),
    Family(family="Mistral with effort", provider="mistral", context_tokens=256_000, reasoning=True,
           names=("mistral-medium", "mistral-small", "devstral", "magistral", "mistral-large-4"),
           efforts=("none", "high"), source="https://docs.mistral.ai/models/model-cards/mistral-medium-3-5-26-04",
           unconfirmed=("images", "calls")),
    Family(family="Codestral", names=("codestral",), provider="mistral", context_tokens=128_000,
           source="https://docs.mistral.ai/models/model-cards/codestral-25-08", unconfirmed=("calls",)),
    Family(family="Mistral", names=("mistral", "ministral", "pixtral"), provider="mistral", context_tokens=128_000,
           source="https://docs.mistral.ai/models/mistral-large-3-25-12", unconfirmed=("images", "calls")),
    Family(family="Llama 4", names=("llama-4", "llama4"), provider="meta", context_tokens=1_000_000, images=True,
           source="https://ai.developer.meta.com/docs/models", unconfirmed=("calls",)),
    Family(family="Llama 3", names=("llama",), provider="meta", context_tokens=128_000,
           source="https://ai.developer.meta.com/docs/models", unconfirmed=("calls",)),
    Family(family="Grok 3 mini", names=("grok-3-mini",), provider="xai", context_tokens=131_072, reasoning=True,
           efforts=("low", "high"), source="https://docs.x.ai/docs/guides/reasoning", unconfirmed=("calls",)),
    Family(family="Grok 4.20 and 4.3", names=("grok-4.20", "grok-4.3"), provider="xai", context_tokens=1_000_000,
           reasoning=True, images=True, source="https://api.x.ai/v1/language-models",
           unconfirmed=("efforts", "calls")),
    Family(family="Grok 4", names=("grok-4", "grok-code"), provider="xai", context_tokens=256_000, reasoning=True,
           images=True, calls=True, source="https://openrouter.ai/x-ai/grok-4"),
    Family(family="Grok", names=("grok",), provider="xai", context_tokens=131_072,
           source="https://docs.x.ai/docs/models", unconfirmed=("calls",)),
    Family(family="MiniMax M2", names=("minimax-m2",), provider="minimax", context_tokens=200_000, reasoning=True,
           source="https://platform.minimax.io/docs", unconfirmed=("efforts", "calls", "context_tokens")),
)  # fmt: skip

OWN: Final[tuple[Family, ...]] = (
    Family(family="repair", names=("repair",), provider="loopline", context_tokens=None, calls=True, source="here"),
    Family(family="scripted", names=("scripted",), provider="loopline", context_tokens=None, reasoning=True,
           efforts=("none", "minimal", *_TO_XHIGH), calls=True, source="here"),
)  # fmt: skip
"""Models of our own service."""
