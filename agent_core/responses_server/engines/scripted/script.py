"""Rollout files: what the `scripted` engine plays, call by call.

A JSON object; unknown keys are refused.

    tokens_per_s    speed of all steps, a word with its space counted as one token; 0 or absent: no pacing
    context_tokens  rendered tokens that the model's context is said to hold; absent: no limit
    steps           one entry per call of a conversation, in order

A step:

    expect          what the call must look like, each key optional:
                        last       type of the last input item ("message", "function_call_output", …)
                        contains   text that the last input item must contain
                        model      the model name asked for
    delay_ms        pause before the first delta
    tokens_per_s    speed of this step
    output          list of objects with exactly one of these keys:
                        text, reasoning     a string, streamed in words; reasoning is told as its summary
                        reasoning_text      the same, told as the reasoning itself
                        function_call       {name, arguments: object or string, call_id?, namespace?}
                        custom_tool_call    {name, input, call_id?, namespace?}
                        pause_ms            a pause in mid-stream
                        fail                {code, message}: the response fails here
    finish          "stop" (default), "max_output_tokens" or "content_filter"

Which step a call plays follows from its conversation alone: a context in which the model spoke n times plays step n
(from 0). So one file serves any number of conversations, over WebSocket and over stateless HTTP alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from agent_core.errors import ConfigError


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    last: str | None = None
    contains: str | None = None
    model: str | None = None


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: Mapping[str, Any] | str = msgspec.field(default_factory=dict)
    call_id: str | None = None
    namespace: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return msgspec.json.encode(self.arguments).decode()


class ScriptedCustomCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    input: str = ""
    call_id: str | None = None
    namespace: str | None = None


class Failure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    message: str


class Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    function_call: ScriptedCall | None = None
    custom_tool_call: ScriptedCustomCall | None = None
    pause_ms: float | None = None
    fail: Failure | None = None

    def __post_init__(self) -> None:
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"expected exactly one of {', '.join(self.__struct_fields__)}")


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    output: tuple[Output, ...]
    expect: Expectation = Expectation()
    delay_ms: float = 0.0
    tokens_per_s: float | None = None
    finish: Literal["stop", "max_output_tokens", "content_filter"] = "stop"


class Rollout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    steps: tuple[Step, ...]
    tokens_per_s: float = 0.0
    context_tokens: int | None = None


def read_rollout(path: Path) -> Rollout:
    """Raises ConfigError naming the file and what is wrong with it."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Rollout)
    except OSError as error:
        raise ConfigError(str(path), "", "a readable rollout file", got=error.strerror) from error
    except msgspec.DecodeError as error:
        raise ConfigError(str(path), "", "a rollout file", got=str(error)) from error
