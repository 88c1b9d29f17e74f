"""Words for a place in code, asked of the service apart from any session: no history, no tools, nothing kept."""

from __future__ import annotations

import re

import msgspec

from agent_core.agent.calls import text_of
from agent_core.errors import ProtocolError
from agent_core.transport.http import Http
from agent_core.transport.urls import http_url

MAX_OUTPUT_TOKENS = 96
MAX_TEXT = 2_000

INSTRUCTIONS = (
    "You complete code at a cursor. Answer with the text to insert there and with nothing else: no explanation, no "
    "fence, nothing that stands there already. An empty answer is fine."
)
_FENCE = re.compile(r"\A```[\w+-]*\n(.*?)\n?```\s*\Z", re.DOTALL)


class _Unwatched:
    """Nobody wants to know what becomes of the request on its way."""

    def connecting(self) -> None: ...

    def connected(self) -> None: ...

    def leaving(self) -> None: ...

    def left(self) -> None: ...


class _Answer(msgspec.Struct):
    output: list[msgspec.Raw] = []


class Completer:
    """Of one service and model; keeps its connection. `close` it."""

    def __init__(self, base_url: str, api_key: str | None, model: str) -> None:
        headers = {"User-Agent": "loopline", **({"Authorization": f"Bearer {api_key}"} if api_key else {})}
        self._url, self._model = http_url(base_url), model
        self._http = Http(self._url, headers)

    async def complete(self, before: str, after: str, name: str, limit_s: float) -> str:
        """What fits between the two texts of a file called `name`; "" for nothing. At most `limit_s` seconds.

        Raises ServiceUnreachable, ConnectionLost, AuthError, ServiceError or ProtocolError.
        """
        text = f"File {name}. The cursor is at <cursor/>.\n\n{before}<cursor/>{after}"
        body = {
            "model": self._model,
            "instructions": INSTRUCTIONS,
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}],
            "max_output_tokens": MAX_OUTPUT_TOKENS,
            "store": False,
        }
        answer = await self._http.ask("POST", self._url, msgspec.json.encode(body), _Unwatched(), limit_s)
        try:
            output = msgspec.json.decode(answer, type=_Answer).output
        except msgspec.MsgspecError:
            raise ProtocolError("the service's answer is no response") from None
        said = text_of([bytes(item) for item in output])
        fenced = _FENCE.match(said)
        return (fenced[1] if fenced else said)[:MAX_TEXT]

    async def close(self) -> None:
        await self._http.close()
