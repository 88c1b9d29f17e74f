"""What `run` leaves of a final answer: alone on standard output, in a file, as an object of a schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.system.cli import Done, environment, loopline

SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}


def run(folder: Path, *options: str) -> Done:
    (folder / "project").mkdir(exist_ok=True)
    where = ("--model", "scripted", "-w", str(folder / "project"))
    return loopline("run", "count", *where, *options, env=environment(folder / "home"))


def test_a_quiet_run_prints_the_answer_alone_and_a_file_has_it_too(tmp_path: Path) -> None:
    done = run(tmp_path, "-q", "-o", str(tmp_path / "answer.txt"))
    assert done.code == 0 and done.err == ""
    assert done.out.startswith("This answer comes from the scripted engine.") and done.out.count("\n") == 1
    assert (tmp_path / "answer.txt").read_text() == done.out


def test_an_answer_keeps_to_a_schema_and_is_an_object_in_the_summary(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    done = run(tmp_path, "--output-schema", str(tmp_path / "schema.json"), "--json")
    assert done.code == 0 and isinstance(done.summary["answer"]["count"], int)
    assert "answer" not in run(tmp_path, "--json").summary


@pytest.mark.parametrize("text", ["[1]", "{", None])
def test_what_is_no_schema_is_refused_before_anything_starts(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "schema.json").write_text(text)
    done = run(tmp_path, "--output-schema", str(tmp_path / "schema.json"))
    assert done.code == 2 and "no schema in" in done.err


def test_deny_is_the_name_of_never_which_still_works(tmp_path: Path) -> None:
    assert run(tmp_path, "-q", "--approve", "deny").err == ""
    assert (
        run(tmp_path, "-q", "--approve", "never").err == "loopline: `--approve never` is called `--approve deny` now\n"
    )


def test_a_session_goes_on_by_a_beginning_of_its_id_or_as_the_folders_latest(tmp_path: Path) -> None:
    first = next(line["sessionId"] for line in run(tmp_path, "--json").lines if line["type"] == "session.opened")
    for options in (("-c",), ("--resume", first[:14])):
        lines = run(tmp_path, *options, "--json").lines
        assert first == next(line["sessionId"] for line in lines if line["type"] == "session.opened")
    refused = run(tmp_path, "--resume", "nobody")
    assert refused.code == 2 and "no session is named" in refused.err
