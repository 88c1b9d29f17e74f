"""Strict reading of what is new in a request: settings, tools and input items. Everything older was read before.

Raises WireError with the path of the field. A tool output must answer a call of the chain or of the same input, and
be the only one that does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from agent_core.errors import WireError
from agent_core.responses_server.conversation.compaction import (
    OpenedCompaction,
    effective,
    newest_compaction,
    open_calls,
)
from agent_core.responses_server.conversation.context import Context
from agent_core.responses_server.engine import EngineTool
from agent_core.responses_server.request.calling import Calling, read_calling
from agent_core.responses_server.request.configuration import UNCHANGED, Configuration
from agent_core.responses_server.request.options import Settings, check_text_format, read_settings
from agent_core.responses_server.request.toolset import MAX_BROUGHT, ToolSet, ToolSets, joined, tools_in
from agent_core.responses_server.slices import Share, Slices, at_once
from agent_core.wire.bounds import MAX_REFERENCES, require_few, require_item
from agent_core.wire.codec import present
from agent_core.wire.items import (
    AnyItem,
    Compaction,
    CompactionTrigger,
    CustomToolCallOutput,
    FunctionCallOutput,
    InputFile,
    InputImage,
    ItemReference,
    Message,
    call_id_of,
    item_type,
    output_call_id,
    read_item,
    read_item_strict,
    read_parts,
)
from agent_core.wire.requests import ResponseCreate, read_client_frame, read_create_body, split_in_slices
from agent_core.wire.tools import read_tools

LOOKS_PER_SLICE = 512
"""Items that are looked at, not read, before others get their turn."""

NO_INPUT = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided."


class Given(msgspec.Struct):
    """New input items: as they came, and read. `references` are the positions of items that only name another one.

    What is sealed in the items has to be opened before they are checked (`state/opening.py`).
    """

    raws: list[msgspec.Raw]
    items: list[AnyItem]
    references: dict[int, str]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A request that may run.

    `items` are the new input items, `raws` the same as they came. `extra`: tools that came as items, in the whole
    conversation; `update`: what its configuration updates have set. `settings` has that worked in. `compact_now`: the
    client asks for nothing but a compaction.
    """

    items: Sequence[AnyItem]
    raws: Sequence[msgspec.Raw]
    tools: ToolSet
    extra: tuple[EngineTool, ...]
    calling: Calling
    settings: Settings
    update: Configuration
    compact_now: bool


class Parent(Protocol):
    """What is read of the state that a request continues."""

    @property
    def context(self) -> Context: ...
    @property
    def extra(self) -> tuple[EngineTool, ...]: ...
    @property
    def update(self) -> Configuration: ...


class Validator:
    """`validated_items` counts items that were read strictly. `known_tools` False parses tools anew in each call."""

    def __init__(self, *, known_tools: bool = True) -> None:
        self.tool_sets = ToolSets(keep=known_tools)
        self.validated_items = 0

    def read(self, create: ResponseCreate, before: Sequence[msgspec.Raw] = ()) -> Slices[Given]:
        """The new items, `before` in front of those that the request brings. Raises WireError."""
        if not present(create.input) and create.previous_response_id is None:
            raise WireError(NO_INPUT, param="input")
        given = (yield from split_in_slices(create.input)) if present(create.input) else []
        raws, items, share = list(before), [read_item(raw) for raw in before], Share()
        for index, raw in enumerate(given):
            require_item(f"input[{index}]", len(raw))
            raws.append(raw.copy())  # so that an item that is kept does not keep its whole frame
            items.append(read_item_strict(raw, f"input[{index}]"))
            if share.is_used(len(raw)):
                yield
        self.validated_items += len(given)
        references = {index: item.id or "" for index, item in enumerate(items) if isinstance(item, ItemReference)}
        require_few("input", len(references), MAX_REFERENCES, "references to stored items")
        return Given(raws, items, references)

    def appended(self, given: msgspec.Raw, context: Context) -> Given:
        """Input that came for a response in the middle. Raises WireError."""
        new = at_once(self.read(ResponseCreate(input=given)))
        if new.references:
            raise WireError("Nothing stored can be referred to here.", param="input")
        if any(isinstance(item, Compaction) for item in new.items):
            raise WireError("A compaction can't come in the middle of a response.", param="input")
        at_once(_check_places(new))
        at_once(_check_outputs(new.items, context))
        return new

    def check(self, create: ResponseCreate, parent: Parent | None, given: Given) -> Slices[Checked]:
        """Judge the new parts of `create` against the context it continues. Raises WireError."""
        settings = read_settings(create)
        tools = self.tool_sets.read(bytes(create.tools) if present(create.tools) else b"")
        yield from _check_places(given)
        yield from _check_outputs(given.items, parent.context if parent is not None else None)
        brought = yield from tools_in(given.items)
        counting = effective(given.items)
        if counting is not given.items:
            brought = yield from tools_in(counting)
        extra = joined(parent.extra if parent is not None else (), brought)
        require_few("input", len(extra), MAX_BROUGHT, "different tools with those of the conversation")
        update = (parent.update if parent is not None else UNCHANGED).behind(counting)
        check_text_format(update.text_format, "input")
        return Checked(
            items=given.items,
            raws=given.raws,
            tools=tools,
            extra=extra,
            calling=read_calling(create, joined(tools.tools, extra)),
            settings=update.over(settings),
            update=update,
            compact_now=bool(given.items) and isinstance(given.items[-1], CompactionTrigger),
        )


def _check_places(given: Given) -> Slices[None]:
    """What can't stand where it stands, and what can't be read here."""
    last = len(given.items) - 1
    for index, (item, raw) in enumerate(zip(given.items, given.raws, strict=True)):
        path = f"input[{index}]"
        if isinstance(item, CompactionTrigger) and index != last:
            raise WireError("A compaction_trigger must be the last item.", param=f"{path}.type")
        if isinstance(item, Message | FunctionCallOutput | CustomToolCallOutput) and b'"file_id"' in bytes(raw):
            _check_files(item, path)
        if index % LOOKS_PER_SLICE == LOOKS_PER_SLICE - 1:
            yield


def _check_files(item: Message | FunctionCallOutput | CustomToolCallOutput, path: str) -> None:
    """There are no uploads here, so nothing can be meant by the id of one."""
    name = "content" if isinstance(item, Message) else "output"
    content = getattr(item, name)
    for index, part in enumerate(read_parts(content) if isinstance(content, list) else ()):
        if isinstance(part, InputImage | InputFile) and part.file_id is not None:
            message = "Uploaded files are not served here; send the data or an address."
            raise WireError(message, param=f"{path}.{name}[{index}].file_id")


def _check_outputs(items: Sequence[AnyItem], context: Context | None) -> Slices[None]:
    """Each tool output answers a call that has none: ids may come again, so calls are counted, not only known.

    What stands before the newest compaction is in it, and is not looked at; nor is the context before that.
    """
    waiting: dict[str, int] = {}
    newest = newest_compaction(items) or 0
    for index, item in enumerate(items[newest:], newest):
        if index % LOOKS_PER_SLICE == LOOKS_PER_SLICE - 1:
            yield
        if isinstance(item, OpenedCompaction):
            waiting, context = Counter(open_calls(item)), None
        elif (called := call_id_of(item)) is not None:
            waiting[called] = _waiting(called, waiting, context) + 1
        elif (answered := output_call_id(item)) is not None:
            known = answered in waiting or (context is not None and context.knows_call(answered))
            waiting[answered] = _waiting(answered, waiting, context) - 1
            if waiting[answered] < 0:
                kind = item_type(item).replace("_", " ")
                what = "Every tool call has its output already" if known else "No tool call found"
                raise WireError(f"{what} for {kind} with call_id {answered[:80]}.", param="input")


def _waiting(call_id: str, waiting: Mapping[str, int], context: Context | None) -> int:
    """How many calls with this id wait for an output."""
    if (found := waiting.get(call_id)) is not None:
        return found
    return context.open_calls(call_id) if context is not None else 0


def build_decoders() -> None:
    """Build the readers' tables now (some ms of CPU each), so that no request pays for them."""
    read_client_frame('{"type":"response.create","tool_choice":"auto","text":{},"reasoning":{}}')
    read_create_body("{}")
    message = b'{"role":"user","content":[{"type":"input_text","text":""}]}'
    read_item(message)
    read_item_strict(message, "input[0]")
    read_tools(b'[{"type":"function","name":"none","parameters":{}}]')
