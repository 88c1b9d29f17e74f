"""Token counts of one response, from what the engine reported and what the service rendered."""

from __future__ import annotations

from agent_core.responses_server.engine import Finish
from agent_core.wire.response import InputTokensDetails, OutputTokensDetails, Usage


def usage_of(finish: Finish, *, rendered: int, reused: int | None, output_tokens: int, reasoning_tokens: int) -> Usage:
    """The engine's figures where it has them, else ours: `rendered` input tokens of which `reused` came from the cache.

    Where it is not known what was cached (`reused` None: our rendering says nothing of it), `input_tokens_details` is
    left out: unknown is absent, never 0.
    """
    given, cached = finish.input_tokens, finish.cached_tokens
    if given is None:
        given, cached = rendered, reused
    details = InputTokensDetails(cached_tokens=cached) if cached is not None else None
    output = output_tokens if finish.output_tokens is None else finish.output_tokens
    reasoning = reasoning_tokens if finish.reasoning_tokens is None else finish.reasoning_tokens
    return Usage(
        input_tokens=given,
        input_tokens_details=details,
        output_tokens=output,
        output_tokens_details=OutputTokensDetails(reasoning_tokens=reasoning),
        total_tokens=given + output,
    )
