"""A context looked at without an answer: `POST /v1/responses/input_tokens` and `POST /v1/responses/compact`."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from agent_core.clock import new_id
from agent_core.errors import LooplineError, WireError
from agent_core.protocol.lanes import Relation
from agent_core.responses_server.conversation.compaction import Compacted, compact
from agent_core.responses_server.engine import Finish
from agent_core.responses_server.output.accounting import usage_of
from agent_core.responses_server.pipeline import steps
from agent_core.responses_server.pipeline.active import Call
from agent_core.responses_server.request.offer import check_model
from agent_core.responses_server.service import Service
from agent_core.responses_server.shells.http.replies import as_json, owner_of, read_body, told
from agent_core.responses_server.slices import in_turns
from agent_core.responses_server.stages import Stages
from agent_core.responses_server.store.stored_items import as_shown
from agent_core.wire.codec import to_raw
from agent_core.wire.items import Message
from agent_core.wire.requests import ResponseCreate, read_create_body


class Contexts:
    """Both take the body of a create, and what it continues from the durable store."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def input_tokens(self, request: Request) -> Response:
        """How many tokens the input of a create with this body would have."""
        try:
            create = read_create_body(await self._admitted(request), known_utf8=True)
            prompt = await self._prompt(request, create)
        except LooplineError as error:
            return told(error)
        return as_json({"object": "response.input_tokens", "input_tokens": prompt.size})

    async def compact(self, request: Request) -> Response:
        """The context compacted: the user's messages as they are, and one compaction item that stands for all."""
        try:
            create = read_create_body(await self._admitted(request), known_utf8=True)
            if create.model is None:
                raise WireError("Missing required parameter: 'model'.", param="model")
            prompt = await self._prompt(request, create)
            made = await in_turns(compact(prompt.context.items))
            owner = owner_of(request.scope)
            content = await steps.sealed(made, self._service.pipeline.sealer.of(owner))
        except LooplineError as error:
            return told(error)
        tokens = await self._service.pipeline.renderer.count(made.digest)
        self._service.limits.charge(owner, prompt.size + tokens)
        body = {
            "id": new_id("cmpr"),
            "object": "response.compaction",
            "created_at": self._service.clock.wall_ns() // 1_000_000_000,
            "output": _output(made, content),
            "usage": usage_of(
                Finish(), rendered=prompt.size, reused=prompt.reused, output_tokens=tokens, reasoning_tokens=0
            ),
        }
        return as_json(body)

    async def _admitted(self, request: Request) -> bytes:
        """The body, if its key may ask once more. Raises ServiceError, WireError, ConnectionLost."""
        body = await read_body(request.receive)
        if (refusal := self._service.limits.admit(owner_of(request.scope))) is not None:
            raise refusal
        return body

    async def _prompt(self, request: Request, create: ResponseCreate) -> steps.Prompt:
        """The rendered context of a create. Raises what a create would be refused with."""
        parts = self._service.pipeline
        call = Call(
            response_id="",
            create=create,
            router=self._service.router(),
            stages=Stages(self._service.clock),
            connection="",
            owner=owner_of(request.scope),
            relation=Relation.FRESH if create.previous_response_id is None else Relation.MISS,
        )
        seal = parts.sealer.of(call.owner)
        parent = await steps.resolve_state(call, parts.store, seal)
        checked = await steps.check(call, parent, parts.validator, parts.store, seal)
        if create.model is not None:
            route = call.router.resolve(create.model)
            check_model(route.model, route.engine.capabilities, checked)
        prompt = steps.begin(parent, checked, keep=parts.keep_tokens)
        tools, keep = checked.tools, parts.keep_tokens
        return await steps.render(parts.renderer, create.instructions, tools, parent, prompt, keep=keep)


def _output(made: Compacted, content: str) -> list[dict[str, Any]]:
    users = [item for item in (*made.messages, *made.tail) if isinstance(item, Message) and item.role == "user"]
    shown = [as_shown(item, to_raw(item)) for item in users]
    for message in shown:
        message["id"] = message.get("id") or new_id("msg")
    return [*shown, {"type": "compaction", "id": new_id("cmp"), "encrypted_content": content}]
