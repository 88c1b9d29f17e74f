"""The rollout prototype: an experiment that measures how close chained calls come to one long response. Off by default.

With `--enable-rollout`, on connections that ask by the header `x-loopline-rollout: 1`, a response that has called tools
does not end. It sends `response.done` and waits, within its sampling loop, for `response.append` with the outputs;
then it samples on. Admission, settings, tools and routing before, and rendering, storing and settling after, happen
once for all of it. The price: nothing can be retried or resumed in the middle, and the lane is held all the time.
"""

from __future__ import annotations

import asyncio

from msgspec import Raw, field

from agent_core.errors import ServiceError, WireError
from agent_core.wire.base import Wire, zero

WAIT_S = 600.0
"""Longest wait for a client's outputs; then the response fails."""

TIMEOUT_CODE = "rollout_timeout"


class Paused(Wire, kw_only=True):
    """The response so far; `output` are the items since the last pause."""

    id: str
    status: str = field(default_factory=lambda: "in_progress")
    output: list[Raw] = field(default_factory=list)


class ResponseDone(Wire, kw_only=True, tag_field="type", tag="response.done"):
    """A round of the rollout is over, and the outputs of its calls are waited for."""

    response: Paused
    sequence_number: int = field(default_factory=zero)
    stream_id: str | None = None


class Rollout:
    """Where the client's outputs reach a waiting response. Belongs to one response, on the event loop."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self._wait_s = wait_s
        self._waiting: asyncio.Future[Raw] | None = None
        self._over: ServiceError | None = None

    def pause(self) -> None:
        """From now on input is taken; call before the client is told so."""
        self._waiting = asyncio.get_running_loop().create_future()
        if self._over is not None:
            self._waiting.set_exception(self._over)

    def offer(self, given: Raw) -> bool:
        """Hand over what the client appends. False: nothing waits for it."""
        if self._waiting is None or self._waiting.done():
            return False
        self._waiting.set_result(given)
        return True

    def end(self, cause: ServiceError) -> None:
        """No more input is waited for; a response that waits, or comes to, fails with `cause`."""
        self._over = cause
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(cause)

    async def given(self) -> Raw:
        """What the client appended. Raises ServiceError if it does not come."""
        assert self._waiting is not None
        try:
            async with asyncio.timeout(self._wait_s):
                return await self._waiting
        except TimeoutError:
            raise ServiceError("No outputs came for the rollout's calls.", code=TIMEOUT_CODE) from None
        finally:
            self._waiting = None


def nothing_waits() -> WireError:
    """Why a `response.append` is refused."""
    return WireError("No response waits for input on this stream.", param="type")
