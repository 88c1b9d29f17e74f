from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core.agent.history import History, SessionHeader
from agent_core.errors import StateError

HEADER = SessionHeader(id="sess_1", created="2026-01-01T00:00:00.000000Z", roots=("/w",), model="m")
ITEMS = [b'{"type":"message","role":"user","content":"caf\xc3\xa9"}', b'{"type":"function_call","call_id":"c1"}']


def test_what_is_appended_is_there_after_loading(tmp_path: Path) -> None:
    history = History.create(tmp_path / "sessions", HEADER)
    history.mark_turn("turn_1", "started")
    history.append(ITEMS, "turn_1")
    history.mark_turn("turn_1", "completed", "done")
    history.close()
    loaded = History.load(history.path)
    assert loaded.header == HEADER
    assert loaded.items.raw(0) == ITEMS
    assert [record.status for record in loaded.turns] == ["started", "completed"]
    loaded.append([b'{"type":"x"}'])
    loaded.close()
    assert History.load(history.path).items.raw(2) == [b'{"type":"x"}']


def test_memory_keeps_the_very_bytes_and_the_file_one_line_each(tmp_path: Path) -> None:
    pretty = b'{\n  "type": "message",\n  "text": "a\\nb"\n}'
    history = History.create(tmp_path, HEADER)
    history.append([pretty])
    history.close()
    assert history.items.raw(0) == [pretty]
    assert History.load(history.path).items.raw(0) == [b'{"type":"message","text":"a\\nb"}']


@given(cut=st.integers(min_value=0, max_value=400))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_cut_at_any_byte_loads_as_the_whole_lines_before_the_cut(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "sess_1.jsonl"
    path.unlink(missing_ok=True)
    history = History.create(tmp_path, HEADER)
    history.append(ITEMS * 2)
    history.close()
    data = path.read_bytes()
    kept = data[: min(cut, len(data))]
    path.write_bytes(kept)
    lines = kept.count(b"\n")
    if not lines:
        with pytest.raises(StateError):
            History.load(path)
        return
    loaded = History.load(path)
    assert len(loaded.items) == lines - 1
    loaded.append([b'{"type":"after"}'])
    loaded.close()
    assert History.load(path).items.raw(0) == [*(ITEMS * 2)[: lines - 1], b'{"type":"after"}']


def test_errors_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(StateError) as caught:
        History.load(tmp_path / "sess_none.jsonl")
    assert caught.value.code == "state_missing"
    damaged = tmp_path / "sess_2.jsonl"
    damaged.write_bytes(b"not json\n")
    with pytest.raises(StateError, match="sess_2"):
        History.load(damaged)
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(StateError) as caught:
        History.create(blocker / "sessions", HEADER)
    assert caught.value.code == "state_unwritable"


def test_the_file_is_private(tmp_path: Path) -> None:
    history = History.create(tmp_path / "s", HEADER)
    history.close()
    assert history.path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700


def test_a_compaction_starts_the_context_anew_and_keeps_the_old_lines(tmp_path: Path) -> None:
    history = History.create(tmp_path, HEADER)
    history.append(ITEMS)
    summary = b'{"type":"message","role":"user","content":"so far"}'
    history.compact([summary], "local", "turn_1")
    history.append([b'{"type":"x"}'])
    history.close()
    for each in (history, History.load(history.path)):
        assert each.items.raw(0) == [*ITEMS, summary, b'{"type":"x"}']
        assert each.context() == [summary, b'{"type":"x"}']


def test_a_compaction_item_of_the_service_starts_the_context(tmp_path: Path) -> None:
    history = History.create(tmp_path, HEADER)
    compaction = b'{"type":"compaction","id":"cmp_1","encrypted_content":"x"}'
    mention = b'{"type":"message","role":"user","content":"\\"compaction\\""}'
    history.append([*ITEMS, compaction, mention])
    history.close()
    for each in (history, History.load(history.path)):
        assert each.context() == [compaction, mention]
