"""A session file after bad luck: what is damaged costs itself, the rest is there, and a person is told."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.agent.archive import Archive
from agent_core.agent.history import History, SessionHeader, TitleRecord
from agent_core.agent.mending import mended
from agent_core.agent.record_lines import parted, sealed
from agent_core.errors import StateError

HEADER = SessionHeader(id="sess_1", created="2026-01-01T00:00:00.000000Z", roots=("/w",), model="m")


def said(number: int) -> bytes:
    return b'{"type":"message","role":"user","content":"word %d, caf\xc3\xa9"}' % number


def session(folder: Path, count: int = 20) -> Path:
    history = History.create(folder, HEADER)
    history.mark_turn("turn_1", "started")
    for number in range(count):
        history.append([said(number)], "turn_1")
    history.append_record(TitleRecord(title="kept"))
    history.mark_turn("turn_1", "completed", "done")
    history.close()
    return history.path


KINDS: dict[str, Callable[[bytes], bytes]] = {
    "blank": lambda line: b"",
    "shortened": lambda line: line[: len(line) // 2],
    "filled with NUL": lambda line: b"\0" * len(line),
    "no JSON": lambda line: b"not json",
    "no object": lambda line: b"[1,2]",
    "no UTF-8": lambda line: line.replace(b"word", b"w\xff\xfe\xfd"),
    "another text, still JSON": lambda line: line.replace(b"word", b"ward"),
    "of no kind": lambda line: b'{"what":1}',
    "bottomless": lambda line: b'{"kind":"item","item":' + b"[" * 100_000 + b"}",
    "carriage return": lambda line: line[:30] + b"\r" + line[31:],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_line_costs_itself(tmp_path: Path, kind: str) -> None:
    path = session(tmp_path)
    lines = path.read_bytes().split(b"\n")
    lines[7] = KINDS[kind](lines[7])
    path.write_bytes(b"\n".join(lines))
    history = History.load(path)
    assert history.items.raw(0) == [said(number) for number in range(20) if number != 5]
    assert (history.title, history.turns[-1].status, history.damaged) == ("kept", "completed", [8])
    (note,) = history.notes
    assert str(path) in note.text
    assert "line 8 is damaged" in note.text
    history.append([said(99)])
    history.close()
    again = History.load(path)
    assert again.items.raw(0)[-1] == said(99)
    assert len(again.notes) == 1, "told once"
    again.close()
    (entry,) = Archive(tmp_path).entries()
    assert (entry.title, entry.problem, entry.damaged) == ("kept", "", 1)


def test_a_record_of_a_later_version_is_passed_over(tmp_path: Path) -> None:
    path = session(tmp_path)
    lines = path.read_bytes().split(b"\n")
    lines.insert(5, sealed(b'{"kind":"branch","of":3}').rstrip())
    lines.insert(6, b'{"kind":"branch","of":4}')
    path.write_bytes(b"\n".join(lines))
    history = History.read(path)
    assert len(history.items) == 20
    assert history.damaged == []


def test_a_file_of_before_the_checksums_reads_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "sess_1.jsonl"
    head = b'{"kind":"session","id":"sess_1","created":"","roots":["/w"],"model":"m"}'
    path.write_bytes(
        head + b'\n{"kind":"item","item":' + said(1) + b"}\n\n" + b'{"kind":"item","item":' + said(2) + b"}\n"
    )
    history = History.read(path)
    assert history.items.raw(0) == [said(1), said(2)]
    assert history.damaged == [3]


def test_a_lost_line_break_costs_nothing_else(tmp_path: Path) -> None:
    path = session(tmp_path)
    data = path.read_bytes()
    at = data.index(b"\n", data.index(b"word 4"))
    path.write_bytes(data[:at] + b"\0" + data[at + 1 :])
    history = History.read(path)
    assert history.items.raw(0) == [said(number) for number in range(20)]
    assert len(history.damaged) == 1


@pytest.mark.parametrize("line", [b"", b"\0" * 90, b'{"kind":"session","id'])
def test_without_its_header_a_session_is_still_there(tmp_path: Path, line: bytes) -> None:
    path = session(tmp_path)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([line, *lines[1:]]))
    history = History.load(path)
    assert len(history.items) == 20
    assert (history.header.id, history.header.roots, history.title) == ("sess_1", (), "kept")
    assert "line 1 is damaged" in history.notes[0].text


def test_what_is_no_session_at_all_says_so(tmp_path: Path) -> None:
    path = tmp_path / "sess_2.jsonl"
    for data in (b"", b"not json\n", b"\0" * 5_000):
        path.write_bytes(data)
        with pytest.raises(StateError) as caught:
            History.load(path)
        assert str(path) in caught.value.message
        assert caught.value.code == "state_damaged"


def test_an_output_without_its_call_and_reasoning_before_it_are_not_sent_alone(tmp_path: Path) -> None:
    reasoning = b'{"type":"reasoning","id":"rs_1","summary":[]}'
    call = b'{"type":"function_call","call_id":"c1","name":"read","arguments":"{}"}'
    output = b'{"type":"function_call_output","call_id":"c1","output":"forty-two"}'
    history = History.create(tmp_path, HEADER)
    history.append([said(0), reasoning, call, output, said(1)], "turn_1")
    history.close()
    path = history.path
    path.write_bytes(path.read_bytes().replace(b'"name":"read"', b'"name":"rear"'))
    items = History.read(path).items.raw(0)
    assert [items[0], items[2]] == [said(0), said(1)]
    assert b"forty-two" in items[1]
    assert b"_output" not in items[1]
    assert mended([call, output, output])[:2] == [call, output]
    assert b"_output" not in mended([call, output, output])[2]


def _spoil(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data))
    if chance.random() < 0.5:
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
    length = chance.choice((16, 300))
    return data[:at] + chance.choice((b"\0" * length, chance.randbytes(length), b"")) + data[at + length :]


def hurt_somewhere(folder: Path, seed: int) -> None:
    """One seeded damage; everything that is not in a damaged line must be there."""
    path = session(folder)
    whole = path.read_bytes()
    spoilt = _spoil(whole, random.Random(seed))
    path.write_bytes(spoilt)
    history = History.load(path)
    kept = set(spoilt.split(b"\n"))
    wanted = [said(number) for number, line in enumerate(whole.split(b"\n")[2:22]) if line in kept]
    found = history.items.raw(0)
    assert [item for item in found if item in wanted] == wanted, seed
    assert set(found) <= {said(number) for number in range(20)}, f"{seed}: nothing is made up"
    if spoilt != whole and len(spoilt.split(b"\n")[-1]) == 0:
        assert history.notes or len(found) == 20, f"{seed}: lost without a word"
    history.close()
    path.unlink()


def test_damage_anywhere_costs_only_what_it_hits(tmp_path: Path) -> None:
    for seed in range(60):
        hurt_somewhere(tmp_path, seed)


@pytest.mark.soak
def test_damage_at_500_places_costs_only_what_it_hits(tmp_path: Path) -> None:
    for seed in range(60, 560):
        hurt_somewhere(tmp_path, seed)


def test_a_sealed_line_opens_to_the_very_bytes() -> None:
    record = b'{"kind":"item","item":{"a":"},\\"crc\\":1}"}}'
    assert [line.record for line in parted(sealed(record) + sealed(b'{"x":1}'))] == [record, b'{"x":1}']
