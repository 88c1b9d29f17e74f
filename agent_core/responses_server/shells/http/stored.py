"""Stored responses over HTTP: read one, list what it was made from, delete it, cancel one that runs.

Each key sees its own responses only. Source: openai-python `resources/responses`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from agent_core.errors import LooplineError, ServiceError, WireError
from agent_core.responses_server.request.options import check_include
from agent_core.responses_server.service import Service
from agent_core.responses_server.shells.http.replies import as_json, owner_of, told
from agent_core.responses_server.slices import in_turns
from agent_core.responses_server.store.port import StoredResponse, read_chain, read_record
from agent_core.responses_server.store.stored_items import input_page

MAX_PAGE, DEFAULT_PAGE = 100, 20


class StoredResponses:
    """Endpoints below `/v1/responses/{response_id}`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def one(self, request: Request) -> Response:
        """`GET`: the response as it ended. `DELETE`: forget it; what continued it can't be continued any more."""
        try:
            if request.method == "DELETE":
                return await self._delete(request)
            _check_query(request.query_params)
            return as_json((await self._record(request)).response)
        except LooplineError as error:
            return told(error)

    async def input_items(self, request: Request) -> Response:
        """`GET …/input_items`: everything that the response was made from, a page at a time."""
        try:
            check_include(request.query_params.getlist("include") + request.query_params.getlist("include[]"))
            record = await self._record(request)
            chain = await read_chain(self._service.pipeline.store, record.id, record.owner)
            return as_json(await _page(chain or [record], request.query_params))
        except LooplineError as error:
            return told(error)

    async def cancel(self, request: Request) -> Response:
        """`POST …/cancel`: end a response that runs, on whatever connection; answered once it has ended."""
        try:
            response_id = request.path_params["response_id"]
            response = await self._service.in_flight.cancel(response_id, owner_of(request.scope))
            if response is None:
                await self._record(request)
                raise WireError("This response is complete; only one that runs can be cancelled.", param="response_id")
            return as_json(response)
        except LooplineError as error:
            return told(error)

    async def _delete(self, request: Request) -> Response:
        record = await self._record(request)
        await self._service.pipeline.store.delete(record.id)
        return as_json({"id": record.id, "object": "response", "deleted": True})

    async def _record(self, request: Request) -> StoredResponse:
        """Raises ServiceError `not_found`."""
        wanted = request.path_params["response_id"]
        record = await read_record(self._service.pipeline.store, wanted, owner_of(request.scope))
        if record is None:
            message = f"Response with id '{wanted[:80]}' not found."
            raise ServiceError(message, code="not_found", status=404, param="response_id")
        return record


def _check_query(query: QueryParams) -> None:
    """What `GET` can't do is refused: only responses that run in the background could be streamed once more."""
    if query.get("stream", "false").lower() not in ("false", "0", ""):
        raise WireError("Stored responses are not streamed here.", param="stream")
    if "starting_after" in query:
        raise WireError("Stored responses are not streamed here.", param="starting_after")
    check_include(query.getlist("include") + query.getlist("include[]"))


async def _page(chain: Sequence[StoredResponse], query: QueryParams) -> dict[str, Any]:
    """One page of a list. Raises WireError for a page that can't be."""
    limit = query.get("limit", str(DEFAULT_PAGE))
    if not limit.isascii() or not limit.isdigit() or not 1 <= int(limit[:9]) <= MAX_PAGE:
        raise WireError(f"Invalid value for limit: expected a number from 1 to {MAX_PAGE}.", param="limit")
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise WireError("Invalid value for order: expected asc or desc.", param="order")
    work = input_page(chain, limit=int(limit), newest_first=order == "desc", after=query.get("after"))
    page, has_more = await in_turns(work)
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": has_more,
    }
