"""A developer's run reaches the team's dashboard: joined, pushed, read back, each event once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.system.cli import environment, loopline, started


@contextmanager
def hub(folder: Path, env: dict[str, str]) -> Iterator[dict[str, str]]:
    ready = folder / "ready.json"
    ready.unlink(missing_ok=True)
    process = started("web", "--port", "0", "--ready-file", str(ready), env=env)
    try:
        give_up = time.monotonic() + 60
        while not ready.exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < give_up
            time.sleep(0.01)
        yield json.loads(ready.read_text())
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _events(said: dict[str, str], token: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    headers = {"Authorization": f"Bearer {token}"}
    cursor: str | None = None
    with httpx.Client(headers=headers, timeout=30) as client:
        for _ in range(50):
            query = {"wait_s": "0"} | ({"after": cursor} if cursor else {})
            answer = client.get(f"{said['url']}/api/events", params=query)
            assert answer.status_code == 200, answer.text
            lines = [json.loads(line) for line in answer.text.splitlines()]
            found += lines
            cursor = answer.headers["x-loopline-cursor"]
            if not lines:
                return found
    raise AssertionError("the hub gives events without end")


def test_what_a_run_did_is_on_the_hub_once_also_when_the_hub_was_away(tmp_path: Path) -> None:
    team, own = environment(tmp_path / "team"), environment(tmp_path / "own", LOOPLINE_KEYRING="off")
    project = tmp_path / os.fsdecode(b"caf\xe9")  # no UTF-8, as the task
    project.mkdir()
    run = ("run", os.fsdecode(b"say h\xe9"), "-w", str(project), "--model", "scripted", "--json")
    with hub(tmp_path, team) as said:
        token = loopline("web", "token", "add", "dev", "--team", "core", "--role", "operator", env=team).out.strip()
        assert loopline("hub", "join", said["url"], env=own, stdin=f"{token}\n").code == 0
        assert loopline("hub", "status", env=own).code == 0
        assert loopline(*run, env=own).code == 0
    assert loopline(*run, env=own).code == 0  # the hub is down: nothing of the run suffers
    local = [event for event in loopline("export", env=own).lines if event["type"] != "call.progress"]
    with hub(tmp_path, team) as said:
        assert loopline("hub", "leave", env=own).code == 0
        assert loopline("hub", "join", said["url"], env=own, stdin=f"{token}\n").code == 0
        assert loopline(*run, env=own).code == 0  # whichever process runs next ships what ended ones left
        deadline = time.monotonic() + 30
        wanted = {(event["source"], event["seq"]) for event in local}
        while True:
            pushed = [(event["source"], event["seq"]) for event in _events(said, token)]
            if wanted <= set(pushed) or time.monotonic() > deadline:
                break
    assert wanted <= set(pushed)
    assert len(pushed) == len(set(pushed))
