"""Which tools a server is offered, and what it must do with them. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from agent_core.responses_server.engine import EngineRequest
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.upstream.settings import UpstreamSettings


class Offer(msgspec.Struct, frozen=True):
    """`named`: the flat name of the one tool that must be called, None where there is a choice."""

    tools: FlatTools
    choice: Literal["auto", "none", "required"]
    named: str | None = None


def offer(request: EngineRequest, settings: UpstreamSettings) -> Offer:
    """All tools are offered wherever the choice can be said by itself, so that prompts begin alike in every call.

    llama.cpp takes a choice that names a tool for "auto", so one tool is offered alone where it has to be called.
    """
    everything = FlatTools(request.offered or request.tools)
    left = FlatTools(request.tools)
    if not left.by_name:
        return Offer(everything, "none")
    if settings.is_openai and request.must_call and len(left.by_name) == 1:
        return Offer(everything, "required", next(iter(left.by_name)))
    return Offer(left, "required" if request.must_call else "auto")
