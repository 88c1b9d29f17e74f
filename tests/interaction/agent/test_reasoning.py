"""Reasoning from a service to a person: what `run` shows of it, and that it is sent back whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.serving import KEY, serving
from tests.support.system.cli import Done, environment, loopline

SUMMARY, PLAIN = "The parser is where it breaks.", "Only a secret thought could tell."
ROLLOUT = {
    "steps": [
        {
            "output": [
                {"reasoning": SUMMARY},
                {"reasoning_text": PLAIN},
                {"function_call": {"name": "list", "arguments": {}}},
            ]
        },
        {"output": [{"reasoning": "Now I know."}, {"text": "All is well."}]},
    ]
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str], str]]:
    """A folder, an environment that reaches a scripted service, and its URL."""
    folder = tmp_path_factory.mktemp("reasoning")
    (folder / "rollout.json").write_text(json.dumps(ROLLOUT))
    (folder / "project").mkdir()
    env = environment(folder)
    with serving(folder, env, "--rollout", str(folder / "rollout.json"), "--log-level", "debug") as served:
        yield folder, {**env, "OPENAI_API_KEY": KEY}, f"{served.url}/v1"


def run(place: tuple[Path, dict[str, str], str], *options: str) -> Done:
    folder, env, url = place
    where = ["--base-url", url, "--model", "scripted", "-w", str(folder / "project")]
    return loopline("run", "look", *where, *options, env=env)


def test_json_lines_tell_each_piece_and_the_end_with_its_time(place: tuple[Path, dict[str, str], str]) -> None:
    done = run(place, "--json")
    assert done.code == 0
    pieces = [line for line in done.lines if line["type"] == "reasoning.delta"]
    ends = [line for line in done.lines if line["type"] == "reasoning.done"]
    assert all(set(piece) == {"type", "sessionId", "turnId", "text"} for piece in pieces)
    assert "".join(piece["text"] for piece in pieces) == f"{SUMMARY}\n\n{PLAIN}Now I know."
    assert [end["text"] for end in ends] == [f"{SUMMARY}\n\n{PLAIN}", "Now I know."]
    assert all(end["durationMs"] >= 0 for end in ends)
    types = [line["type"] for line in done.lines]
    assert types.index("reasoning.done") < types.index("tool.started")
    assert 0 < done.summary["reasoning_tokens"] <= done.summary["output_tokens"]


def test_a_person_sees_one_line_of_it_and_its_tokens_in_the_table(place: tuple[Path, dict[str, str], str]) -> None:
    done = run(place)
    assert done.code == 0
    (first, second) = [line for line in done.out.splitlines() if line.startswith("∴ thought for")]
    assert SUMMARY in first and "Now I know." in second
    assert "think" in next(line for line in done.out.splitlines() if "overhead" in line)
    assert PLAIN not in done.err and SUMMARY not in done.err


def test_it_is_kept_and_sent_back_whole_and_no_journal_or_log_has_it(place: tuple[Path, dict[str, str], str]) -> None:
    folder, _, _ = place
    session = next(line["sessionId"] for line in run(place, "--json").lines if line["type"] == "session.opened")
    state = folder / "state" / "loopline"
    items = [json.loads(line) for line in (state / "sessions" / f"{session}.jsonl").read_text().splitlines()]
    sealed = [item for item in map(_item, items) if item.get("type") == "reasoning"]
    assert len(sealed) == 3 and all(item["encrypted_content"] for item in sealed)
    assert [item["summary"][0]["text"] for item in sealed if item["summary"]] == [SUMMARY, "Now I know."]
    kept = [path for path in state.rglob("*") if path.is_file() and "sessions" not in path.parts]
    assert kept and not any(PLAIN.encode() in path.read_bytes() for path in kept)


def _item(record: dict[str, Any]) -> dict[str, Any]:
    item = record.get("item", record)
    return item if isinstance(item, dict) else {}
