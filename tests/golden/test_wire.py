"""Golden frames of the wire: every kind that the schema knows, read and written by both readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from agent_core.wire.codec import encode, to_raw
from agent_core.wire.events import UnknownEvent, event_type, read_event
from agent_core.wire.items import UnknownItem, UnknownPart, item_type, read_item, read_item_strict
from agent_core.wire.parts import read_part, read_part_strict
from agent_core.wire.requests import ResponseCreate, read_client_frame, read_create_body, split_input
from agent_core.wire.schema import load_schema
from agent_core.wire.tools import read_tools, tool_type
from tests.support.wire.samples import GOLDEN, Samples

FRAMES = GOLDEN.parent / "frames"


def _golden(kind: str) -> list[Any]:
    return [pytest.param(path, id=path.stem) for path in sorted(GOLDEN.glob(f"{kind}.*.json"))]


def _load(path: Path) -> tuple[bytes, dict[str, Any]]:
    data = path.read_bytes()
    return data, json.loads(data)


@pytest.mark.parametrize("path", _golden("event"))
def test_events_are_read_and_written_unchanged(path: Path) -> None:
    data, wanted = _load(path)
    event = read_event(data)
    assert not isinstance(event, UnknownEvent)
    assert event_type(event) == wanted["type"] == path.stem.removeprefix("event.")
    assert json.loads(encode(event)) == wanted
    assert read_event(data.decode()) == event
    assert (event.sequence_number, event.stream_id) == (wanted["sequence_number"], wanted["stream_id"])


@pytest.mark.parametrize("path", _golden("item"))
def test_items_are_read_and_written_unchanged(path: Path) -> None:
    data, wanted = _load(path)
    lenient, strict = read_item(data), read_item_strict(Raw(data), "input[0]")
    assert not isinstance(lenient, UnknownItem)
    assert item_type(lenient) == item_type(strict) == wanted["type"]
    assert json.loads(encode(lenient)) == wanted
    assert json.loads(encode(strict)) == wanted


@pytest.mark.parametrize("path", _golden("part"))
def test_parts_are_read_and_written_unchanged(path: Path) -> None:
    data, wanted = _load(path)
    lenient, strict = read_part(data), read_part_strict(data, "content[0]")
    assert not isinstance(lenient, UnknownPart)
    assert json.loads(encode(lenient)) == json.loads(encode(strict)) == wanted


@pytest.mark.parametrize("path", _golden("tool"))
def test_tools_are_read_and_written_unchanged(path: Path) -> None:
    data, wanted = _load(path)
    (tool,) = read_tools(to_raw([Raw(data)]))
    assert tool_type(tool) == wanted["type"]
    assert json.loads(encode(tool)) == wanted


@pytest.mark.parametrize("path", _golden("client"))
def test_client_events_are_read_and_written_unchanged(path: Path) -> None:
    data, wanted = _load(path)
    event = read_client_frame(data)
    assert json.loads(encode(event)) == wanted
    assert read_client_frame(data.decode()) == event


def test_every_kind_of_the_schema_has_a_golden_frame_with_all_its_fields() -> None:
    """A kind or field that the vendor adds must be looked at, not only generated."""
    samples = Samples(load_schema()).all()
    files = {path.stem: json.loads(path.read_bytes()) for path in GOLDEN.glob("*.json")}
    assert files.keys() == samples.keys()
    assert {name: sorted(frame) for name, frame in files.items()} == {
        name: sorted(frame) for name, frame in samples.items()
    }


# frames of real clients: captured (Codex CLI 0.171, openai-agents 0.24) with the texts replaced, or written after them


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem) for p in sorted(FRAMES.glob("create.*.json"))])
def test_frames_of_real_clients_pass_whole(path: Path) -> None:
    data, wanted = _load(path)
    create = read_client_frame(data)
    assert isinstance(create, ResponseCreate)
    assert isinstance(create.input, Raw)
    assert isinstance(create.tools, Raw)
    assert json.loads(encode(create)) == wanted
    items = split_input(create.input)
    assert len(items) == len(wanted["input"])
    for index, raw in enumerate(items):
        assert json.loads(bytes(raw)) == wanted["input"][index]
        assert read_item(raw) == read_item_strict(raw, f"input[{index}]")
    assert [tool_type(tool) for tool in read_tools(create.tools)] == [tool["type"] for tool in wanted["tools"]]


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem) for p in sorted(FRAMES.glob("body.*.json"))])
def test_http_bodies_of_real_clients_pass_whole(path: Path) -> None:
    data, wanted = _load(path)
    create = read_create_body(data)
    assert isinstance(create.input, Raw)
    for index, raw in enumerate(split_input(create.input)):
        read_item_strict(raw, f"input[{index}]")
    assert create.model == wanted["model"]
