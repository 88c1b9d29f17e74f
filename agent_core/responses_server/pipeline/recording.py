"""What the durable store is given of a response that has ended."""

from __future__ import annotations

from agent_core.responses_server.pipeline.active import Call
from agent_core.responses_server.request.validation import Checked
from agent_core.responses_server.state.chain import ChainState
from agent_core.responses_server.store.port import StoredResponse
from agent_core.wire.codec import encode, to_raw
from agent_core.wire.response import Response


def record_of(call: Call, parent: ChainState | None, checked: Checked, response: Response) -> StoredResponse:
    """What is new in the call, and the id of its parent; all that came before where the store does not have that."""
    linked = parent is not None and parent.stored
    older = [] if linked or parent is None else [to_raw(item) for item in parent.context.items]
    return StoredResponse(
        id=call.response_id,
        parent=parent.response_id if parent is not None and linked else None,
        created_at=int(response.created_at),
        input=(*older, *checked.raws),
        output=tuple(response.output),
        response=encode(response),
        owner=call.owner,
    )
