"""A conversation as chat turns, for models and servers that know messages, tool calls and tool results only. Pure.

What belongs to one assistant message is joined: its text and the calls that follow it. A call that nobody answered gets
an answer that says so, since chat templates and servers demand one for each. Chats know neither namespaces nor
free-form tools: names are flattened, and an input becomes an object with one field.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from agent_core.errors import EngineError
from agent_core.responses_server.engine import EngineTool, ToolCallStart
from agent_core.wire.items import (
    AdditionalTools,
    AnyItem,
    Compaction,
    ConfigurationUpdate,
    CustomToolCall,
    CustomToolCallOutput,
    FunctionCall,
    FunctionCallOutput,
    InputFile,
    InputImage,
    Message,
    Reasoning,
    UnknownPart,
    call_id_of,
    item_type,
    output_call_id,
    part_text,
    read_parts,
    text_of,
)
from agent_core.wire.pairing import pairs

UNANSWERED = "(no output: the call was interrupted)"
INPUT_FIELD = "input"
"""The one field of a free-form tool's arguments."""

Role = Literal["system", "user", "assistant", "tool"]


class Image(msgspec.Struct, frozen=True):
    """`url`: a data URL or an address. `detail`: low, high or auto; None where it was not given."""

    url: str
    detail: str | None = None


class Document(msgspec.Struct, frozen=True):
    """`data`: a data URL; None where only an address was given."""

    name: str | None
    data: str | None
    url: str | None


Piece = str | Image | Document


class Call(msgspec.Struct, frozen=True):
    """`name` is flat; `arguments` is JSON text; `at` is the item's position in the context."""

    id: str
    name: str
    arguments: str
    at: int = 0


class Turn(msgspec.Struct):
    """One message. `calls` and `reasoning` only from the assistant; `call_id` and `name` only for a tool's output."""

    role: Role
    pieces: list[Piece] = msgspec.field(default_factory=list)
    calls: list[Call] = msgspec.field(default_factory=list)
    call_id: str | None = None
    name: str | None = None
    reasoning: str = ""

    @property
    def text(self) -> str:
        return "\n".join(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def is_text(self) -> bool:
        return all(isinstance(piece, str) for piece in self.pieces)


def flat_name(namespace: str | None, name: str) -> str:
    return f"{namespace}__{name}" if namespace else name


def input_arguments(text: str) -> str:
    """A free-form input as JSON arguments."""
    return msgspec.json.encode({INPUT_FIELD: text}).decode()


class FlatTools:
    """The tools of a request under flat names, which are unique."""

    def __init__(self, tools: Iterable[EngineTool]) -> None:
        self.by_name: dict[str, EngineTool] = {}
        for tool in tools:
            self.by_name.setdefault(flat_name(tool.namespace, tool.name), tool)

    def schema(self, name: str) -> dict[str, Any]:
        """JSON Schema of a function's arguments: always an object, with no fields but those it names."""
        schema = {"type": "object", **(self.by_name[name].parameters or {})}
        return {"additionalProperties": False, **schema} if "properties" in schema else schema

    def start(self, name: str, call_id: str | None) -> ToolCallStart:
        """The start of a call by its flat name; an unknown name is passed on as it is."""
        tool = self.by_name.get(name)
        if tool is None:
            return ToolCallStart(name=name, call_id=call_id)
        return ToolCallStart(name=tool.name, kind=tool.kind, namespace=tool.namespace, call_id=call_id)


def chat_turns(instructions: str | None, items: Sequence[AnyItem]) -> list[Turn]:
    """Raises EngineError `unsupported_content` for content that no chat can carry."""
    turns: list[Turn] = [Turn("system", [instructions])] if instructions else []
    answers = pairs((_call_id(item), output_call_id(item)) for item in items)
    outputs = {call: _output(items[at]) for at, call in answers.items()}
    thought: list[str] = []
    answered = False
    for at, item in enumerate(items):
        if isinstance(item, Reasoning):
            thought += [text] if (text := text_of(item)) else []
        if isinstance(item, Reasoning | AdditionalTools | ConfigurationUpdate | Compaction):
            continue
        if isinstance(item, Message):
            _add_message(turns, item)
        elif (call := _call(item, at)) is not None:
            # Calls behind an output are of the next reply: what was sent before has to stay as it is.
            if not turns or turns[-1].role != "assistant" or answered:
                turns.append(Turn("assistant"))
            turns[-1].calls.append(call)
        elif output_call_id(item) is not None:
            answered = True
            continue
        elif text := text_of(item):
            turns.append(Turn("user", [text]))
        answered = False
        if thought and turns and turns[-1].role == "assistant":
            turns[-1].reasoning = "\n\n".join(filter(None, [turns[-1].reasoning, *thought]))
        thought = []
    return _answered(turns, outputs)


def _add_message(turns: list[Turn], message: Message) -> None:
    pieces = _pieces(message.content)
    if message.role == "assistant":
        turns.append(Turn("assistant", pieces))
    elif message.role in ("system", "developer"):
        turns.append(Turn("system", pieces))
    else:
        turns.append(Turn("user", pieces))


def _call_id(item: AnyItem) -> str | None:
    """The id of a call, "" for a call that has none; None for what is no call."""
    return call_id_of(item) or ("" if isinstance(item, FunctionCall | CustomToolCall) else None)


def _call(item: AnyItem, at: int) -> Call | None:
    call_id = _call_id(item)
    if call_id is None:
        return None
    if isinstance(item, FunctionCall):
        return Call(call_id, flat_name(item.namespace, item.name), _object(item.arguments), at)
    if isinstance(item, CustomToolCall):
        return Call(call_id, flat_name(item.namespace, item.name), input_arguments(item.input), at)
    return Call(call_id, item_type(item).removesuffix("_call"), input_arguments(text_of(item)), at)


def _object(arguments: str) -> str:
    """Arguments as a server takes them back: what the model got wrong is no JSON object, and templates fail over it."""
    try:
        msgspec.json.decode(arguments or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return input_arguments(arguments)
    return arguments or "{}"


def _output(item: AnyItem) -> list[Piece]:
    if isinstance(item, FunctionCallOutput | CustomToolCallOutput):
        return _pieces(item.output)
    return [text_of(item)]


def _pieces(content: str | list[msgspec.Raw]) -> list[Piece]:
    pieces: list[Piece] = []
    for part in read_parts(content):
        if isinstance(part, InputImage):
            if part.image_url is None:
                raise EngineError("An image without data or address can't be used.", code="unsupported_content")
            pieces.append(Image(part.image_url, part.detail))
        elif isinstance(part, InputFile):
            pieces.append(Document(part.filename, part.file_data, part.file_url))
        elif isinstance(part, UnknownPart):
            raise EngineError(f"Content of type '{part.type[:80]}' can't be used.", code="unsupported_content")
        else:
            pieces.append(part_text(part))
    return pieces


def _answered(turns: list[Turn], outputs: dict[int, list[Piece]]) -> list[Turn]:
    """The turns with an answer right behind every call, in the order of the calls, wherever it stood before. Ids that
    a reply has twice or not at all are made anew, since a server tells calls apart by them."""
    done: list[Turn] = []
    for turn in turns:
        ids = [call.id for call in turn.calls]
        turn.calls = [
            call if call.id and ids.count(call.id) == 1 else msgspec.structs.replace(call, id=f"call_{call.at}")
            for call in turn.calls
        ]
        done.append(turn)
        done += [
            Turn("tool", outputs.get(call.at, [UNANSWERED]), call_id=call.id, name=call.name) for call in turn.calls
        ]
    return done
