"""What a Chat Completions server can take, and what a refusal teaches of it. Pure.

A refused request has run nothing, so another form of it may be tried; what was taken in the end is kept for the engine.
Nothing is read out of messages for people: a refusal that names a field costs that field, any other one walks through
`_STEPS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from agent_core.errors import ServiceError

REFUSED: Final = frozenset({400, 404, 415, 422})
TEMPLATE_FAILED: Final = 500
"""llama.cpp's status for messages that the model's template does not take."""


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`one_system`: instructions stand in one system message at the start; those that come later follow as the user's.
    `developer`: they have the role developer. `tool_role`: outputs have the role tool; else calls and outputs are told
    in words. `parallel_calls`: a reply may hold several calls. `names`: messages may have a name. `alternate`: user and
    assistant take turns. `null_content`: a reply of calls alone has null for its content, else "". `reasoning`: the
    field in which the reasoning of a reply with calls goes back, "" for none, None: as the server sends it itself.
    `limit`: the field of the output limit. `without`: fields of the body that are never sent.
    """

    one_system: bool = True
    developer: bool = False
    tool_role: bool = True
    parallel_calls: bool = True
    names: bool = False
    alternate: bool = False
    null_content: bool = True
    reasoning: Literal["reasoning_content", "reasoning", "thinking", ""] | None = None
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    without: Annotated[tuple[str, ...], Meta(max_length=100)] = ()


OPENAI: Final = Profile(one_system=False, reasoning="", limit="max_completion_tokens")

NEEDED: Final = frozenset({"model", "messages", "stream", "tools"})
"""Without these a request would be another one."""

_OPTIONAL: Final = (
    "stream_options",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning_effort",
    "verbosity",
    "id_slot",
    "cache_prompt",
)
_STEPS: Final[tuple[dict[str, Any], ...]] = (
    {"alternate": True, "one_system": True, "developer": False},
    {"without": _OPTIONAL},
    {"null_content": False},
    {"reasoning": ""},
    {"parallel_calls": False},
    {"tool_role": False},
)
"""What a server may stumble over, the likeliest first. Each is added to those before it."""


def relaxed(profile: Profile, error: ServiceError, body: Mapping[str, Any]) -> Iterator[Profile]:
    """Other forms to try after a refusal, in order; `body` is what was refused."""
    if error.status == TEMPLATE_FAILED:
        yield msgspec.structs.replace(profile, **_STEPS[0])
        return
    if error.status not in REFUSED:
        return
    named = re.match(r"[A-Za-z_]+", error.param or "")
    name = named[0] if named else ""
    if name in ("max_tokens", "max_completion_tokens"):
        other: Any = "max_completion_tokens" if profile.limit == "max_tokens" else "max_tokens"
        yield msgspec.structs.replace(profile, limit=other)
        return
    if name in body and name not in NEEDED:
        yield msgspec.structs.replace(profile, without=(*profile.without, name))
        return
    for step in _STEPS:
        without = (*profile.without, *step.get("without", ()))
        profile = msgspec.structs.replace(profile, **{**step, "without": without})
        yield profile
