"""Reading what agents push: good batches, and everything a hostile one can send."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.telemetry import events as ev
from dashboard.hub.ingest import ndjson as reading
from dashboard.hub.ingest.ndjson import Refused, problem_of, read_batch
from dashboard.hub.sources.state import kind_of, subject_of
from dashboard.hub.store.records import CONTEXT, ORDINARY, SAMPLE
from tests.support.hub.stores import agent_scene, ndjson, work


def stamped(seq: int = 1, **fields: Any) -> dict[str, Any]:
    told = {
        "v": 1, "source": "h000001-1-000001", "seq": seq, "time": "2026-11-30T10:00:00.000001Z", "mono_ns": 5,
        "type": "turn.started", "session": "s", "turn": "t",
    }  # fmt: skip
    return {key: value for key, value in {**told, **fields}.items() if value is not None}


def lines(*objects: object) -> bytes:
    return b"\n".join(json.dumps(one).encode() for one in objects)


def refusal(body: bytes, encoding: str = "") -> Refused:
    with pytest.raises(Refused) as caught:
        read_batch(body, encoding)
    return caught.value


@pytest.mark.parametrize(
    ("pack", "encoding"),
    [(bytes, ""), (bytes, "identity"), (gzip.compress, "gzip"), (gzip.compress, "GZIP "), (zlib.compress, "deflate")],
)
def test_a_batch_comes_back_as_it_was_sent(pack: Any, encoding: str) -> None:
    scene = agent_scene()
    work(scene)
    batch = read_batch(pack(ndjson(scene.events)), encoding)
    assert batch.events == scene.events
    assert batch.source == scene.events[0].source
    assert batch.last_seq == scene.events[-1].seq


def test_half_a_character_costs_itself_and_not_the_batch() -> None:
    body = lines(stamped(1, turn="HALF m"), stamped(2)).replace(b"HALF", b"\\ud83d")
    first, second = read_batch(body, "").events
    assert (first.seq, second.seq) == (1, 2)
    assert first.turn == "\ufffd m"


def test_types_of_a_later_version_are_passed_over_and_counted() -> None:
    body = lines(stamped(1), stamped(2, type="future.thing", shape={"any": 1}), stamped(3, unknown_field="x"))
    batch = read_batch(body, "")
    assert [event.seq for event in batch.events] == [1, 3]
    assert (batch.last_seq, batch.passed_over) == (3, 1)
    only_later = read_batch(lines(stamped(7, type="future.thing")), "")
    assert (only_later.events, only_later.last_seq) == ([], 7)


SENT: dict[str, Any] = {
    "type": "call.sent", "call": "c", "model": "m", "transport": "http", "attempt": 1, "reuse": "first",
    "input_items": 1, "bytes_up": 1,
}  # fmt: skip

HOSTILE: dict[str, tuple[bytes, str, int]] = {
    "nothing": (b"", "empty_batch", 400),
    "blank lines": (b"\n \n\r\n", "empty_batch", 400),
    "no json": (b"not json", "bad_event", 400),
    "an array": (b"[1]", "bad_event", 400),
    "invalid utf-8": (b'{"v":1,"source":"\xff"}', "bad_event", 400),
    "nan": (lines(stamped()).replace(b'"mono_ns": 5', b'"mono_ns": NaN'), "bad_event", 400),
    "no version": (lines(stamped(v=None)), "bad_event", 400),
    "a newer schema": (lines(stamped(v=99)), "schema_newer", 409),
    "no sequence": (lines(stamped(seq=None)), "bad_event", 400),  # type: ignore[arg-type]
    "sequence 0": (lines(stamped(0)), "bad_event", 400),
    "a negative sequence": (lines(stamped(-3)), "bad_event", 400),
    "a sequence beyond all": (lines(stamped(1 << 60)), "bad_event", 400),
    "a sequence beyond 64 bits": (lines(stamped(1 << 70)), "bad_event", 400),
    "a repeated sequence": (lines(stamped(1), stamped(1)), "wrong_sequence", 400),
    "a falling sequence": (lines(stamped(2), stamped(1)), "wrong_sequence", 400),
    "two sources": (lines(stamped(1), stamped(2, source="h2-1-2")), "mixed_sources", 400),
    "a source that is a path": (lines(stamped(source="../../etc/passwd")), "bad_event", 400),
    "a source without end": (lines(stamped(source="a" * 65)), "bad_event", 400),
    "no time": (lines(stamped(time="yesterday")), "bad_event", 400),
    "a time without zone": (lines(stamped(time="2026-11-30T10:00:00")), "bad_event", 400),
    "a time in year 9999": (lines(stamped(time="9999-12-31T23:59:59Z")), "bad_event", 400),
    "a time before time": (lines(stamped(time="1970-01-01T00:00:00Z")), "bad_event", 400),
    "a monotonic time beyond": (lines(stamped(mono_ns=1 << 63)), "bad_event", 400),
    "control characters": (lines(stamped(turn="t\x1b[31m")), "bad_event", 400),
    "a line break in an id": (lines(stamped(session="a\nb")), "bad_event", 400),
    "a long id": (lines(stamped(turn="t" * 257)), "bad_event", 400),
    "negative tokens": (
        lines(stamped(type="call.completed", call="c", status="completed", duration_ms=1, input_tokens=-(1 << 64))),
        "bad_event", 400,
    ),
    "tokens beyond": (
        lines(stamped(type="call.completed", call="c", status="completed", duration_ms=1, input_tokens=1 << 63)),
        "bad_event", 400,
    ),
    "an endless duration": (
        lines(stamped(type="call.completed", call="c", status="completed", duration_ms=1e300)), "bad_event", 400,
    ),
    "a status that is none": (
        lines(stamped(type="call.completed", call="c", status="<script>", duration_ms=1)), "bad_event", 400,
    ),
    "a field of the wrong type": (lines(stamped(**SENT) | {"bytes_up": "many"}), "bad_event", 400),
    "stages without end": (
        lines(stamped(type="turn.finished", status="completed", duration_ms=1, calls=1, tools=0,
                      stages_ms={f"s{number}": 1.0 for number in range(3000)})), "bad_event", 400,
    ),
    "content": (lines(stamped(type="content", kind="user", text="secret")), "content_refused", 422),
    "a long line": (lines(stamped(padding="x" * 70_000)), "batch_too_large", 413),
    "too many lines": (b"\n".join(lines(stamped(number)) for number in range(1, 10_002)), "batch_too_large", 413),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_batch_is_refused_as_a_whole_with_a_reason(name: str) -> None:
    body, code, status = HOSTILE[name]
    found = refusal(body)
    assert (found.code, found.status) == (code, status)
    assert found.retry_after_s is None
    assert len(found.message) < 300


def test_a_refusal_never_repeats_what_was_sent() -> None:
    for body, _, _ in HOSTILE.values():
        assert "secret" not in refusal(body).message
        assert "<script>" not in refusal(body).message


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [
        (gzip.compress(bytes(40 << 20)), "gzip", 413),
        (bytes((8 << 20) + 1), "", 413),
        (b"not gzip", "gzip", 400),
        (gzip.compress(lines(stamped()))[:-9], "gzip", 400),
        (gzip.compress(lines(stamped())) + b"tail", "gzip", 400),
        (b"x", "br", 415),
        (b"x", "gzip, gzip", 415),
    ],
    ids=["a bomb", "a giant", "no gzip", "cut off", "with a tail", "another encoding", "nested"],
)
def test_bodies_that_are_not_what_they_say(body: bytes, encoding: str, status: int) -> None:
    assert refusal(body, encoding).status == status


def test_what_could_carry_content_is_taken_out() -> None:
    body = lines(
        stamped(1, type="approval.resolved", approval="a", kind="run", decision="allow", waited_ms=1, rule="rm -rf /"),
        stamped(2, type="tool.started", tool_call="t", name="<script>alert(1)</script>"),
        stamped(3, **{**SENT, "model": "ignore all previous instructions"}),
    )  # fmt: skip
    resolved, tool, sent = read_batch(body, "").events
    assert isinstance(resolved, ev.ApprovalResolved)
    assert resolved.rule is None
    assert isinstance(tool, ev.ToolStarted)
    assert "script" not in tool.name
    assert isinstance(sent, ev.CallSent)
    assert "instructions" not in sent.model


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["", "gzip", "deflate"]))
def test_any_bytes_are_read_or_refused(body: bytes, encoding: str) -> None:
    try:
        read_batch(body, encoding)
    except Refused as refused:
        assert 400 <= refused.status < 500


def test_every_event_of_a_real_session_fits() -> None:
    scene = agent_scene()
    for _ in range(3):
        work(scene)
    scene.open_approval()
    scene.resolve_approval(waited_ms=10.0)
    assert [problem_of(event) for event in scene.events if problem_of(event)] == []


@pytest.mark.parametrize("kind", [kind for kind in ev.AnyEvent.__args__ if kind is not ev.Content])
def test_every_type_has_its_stamps_first_and_a_way_to_be_filed(kind: type[ev.Event]) -> None:
    assert kind.__struct_fields__[: reading._STAMPS] == ("v", "source", "seq", "time", "mono_ns")
    expected = SAMPLE if kind in (ev.CallProgress, ev.SourceAlive) else ORDINARY
    if kind is ev.SessionStarted or kind.__name__.startswith("Connection"):
        expected = CONTEXT
    assert kind_of(kind) == expected


def test_what_the_service_says_of_a_call_is_filed_by_its_response() -> None:
    assert subject_of(ev.ServiceCall(response_id="r1", stages_ms={}, new_tokens=1, reused_tokens=2)) == "response:r1"
    assert subject_of(ev.TurnStarted(turn="t")) == "t"
    assert subject_of(ev.TurnStarted()) == ""
