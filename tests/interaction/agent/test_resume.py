"""Sessions that go on: in their own folder, with their own model and service; also while another process hosts them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent.history import History, SessionHeader
from agent_core.clock import SystemClock
from agent_core.config.load import Loaded, load
from agent_core.config.paths import state_dir
from agent_core.config.settings import Settings
from agent_core.control.lock import SessionHeld
from agent_core.errors import StateError, UsageError
from agent_core.hosting.manager import OpenOptions, SessionManager
from agent_core.hosting.port import SessionHost
from agent_core.hosting.resume import as_it_was, read_header, roots_of
from agent_core.hosting.session import HostOptions, host_session
from agent_core.runtime.connect import draw, transport_of
from agent_core.turns.events import (
    InputTaken,
    Notice,
    Observer,
    SessionOpened,
    TextDelta,
    TurnEnded,
    TurnEvent,
    read_event,
)
from tests.support.lsp.puppet import puppet, puppet_env, steps
from tests.support.system.cli import Done, environment, loopline, started
from tests.support.system.processes import wait_until_none

HEADER = SessionHeader(id="sess_1", created="", roots=("/w",), model="old", base_url="http://127.0.0.1:9/v1")


def effective(tmp_path: Path, header: SessionHeader, config: str = "", **given: Any) -> Settings:
    env = {"XDG_CONFIG_HOME": str(tmp_path)} | given.pop("env", {})
    (tmp_path / "loopline").mkdir(exist_ok=True)
    (tmp_path / "loopline" / "config.toml").write_text(config)
    loaded: Loaded = as_it_was(load(env=env, flags=given), header, tmp_path / "x.jsonl")
    return loaded.settings


def test_a_session_keeps_its_model_and_service_where_nobody_says_otherwise(tmp_path: Path) -> None:
    kept = effective(tmp_path, HEADER, 'model = "new"\nbase_url = "http://new.example/v1"\n')
    assert (kept.model, kept.base_url) == ("old", "http://127.0.0.1:9/v1")
    flagged = effective(tmp_path, HEADER, model="other")
    assert (flagged.model, flagged.base_url) == ("other", "http://127.0.0.1:9/v1")
    moved = effective(tmp_path, HEADER, env={"LOOPLINE_BASE_URL": "http://env.example/v1", "LOOPLINE_MODEL": "m"})
    assert (moved.model, moved.base_url) == ("m", "http://env.example/v1")
    elsewhere = effective(tmp_path, HEADER, base_url="http://flag.example/v1")
    assert (elsewhere.model, elsewhere.base_url) == (None, "http://flag.example/v1")


def test_a_session_of_the_embedded_service_stays_there(tmp_path: Path) -> None:
    embedded = SessionHeader(id="sess_1", created="", roots=(), model="repair", base_url="")
    assert effective(tmp_path, embedded, 'base_url = "http://new.example/v1"\n').base_url == ""
    unknown = SessionHeader(id="sess_1", created="", roots=(), model="repair")
    assert effective(tmp_path, unknown, 'base_url = "http://n.example/v1"\n').base_url == "http://n.example/v1"


def test_folders_that_are_gone_and_names_that_are_none_are_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="/w, which is gone"):
        roots_of(HEADER)
    with pytest.raises(UsageError):
        read_header(tmp_path, "../../etc/passwd")
    with pytest.raises(StateError):
        read_header(tmp_path, "sess_none")


def test_a_share_of_sessions_uses_the_websocket_and_stays_with_it() -> None:
    ids = [f"sess_{n}" for n in range(4_000)]
    assert all(0 <= draw(session) < 1 for session in ids)
    for share in (0.0, 0.25, 1.0):
        settings = Settings(websocket_share=share)
        chosen = [transport_of(settings, session) for session in ids]
        assert abs(chosen.count("auto") / len(ids) - share) < 0.03
        assert chosen == [transport_of(settings, session) for session in ids]
    assert transport_of(Settings(websocket_share=0.0, transport="websocket"), "sess_1") == "websocket"


async def test_a_session_is_resumed_in_its_folder_and_a_turn_that_was_cut_off_is_called_interrupted(
    tmp_path: Path,
) -> None:
    env = environment(tmp_path / "home")
    project = tmp_path / "project"
    project.mkdir()
    options = HostOptions(roots=(project,), client="test", flags={"model": "scripted"}, env=env)
    async with host_session(options) as hosted:
        session = hosted.session.id
        assert (await hosted.session.run_turn("hello")).status == "completed"
    path = state_dir(env) / "sessions" / f"{session}.jsonl"
    history = History.load(path)
    history.mark_turn("turn_cut", "started")
    history.append([b'{"type":"function_call","call_id":"call_cut","name":"read","arguments":"{}"}'], "turn_cut")
    history.close()
    again = HostOptions(roots=(), client="test", resume=session, as_it_was=True, env=env)
    async with host_session(again) as hosted:
        assert hosted.workspace.root == project.resolve()
        assert hosted.session.model == "scripted"
        assert (await hosted.session.run_turn("go on")).status == "completed"
    history = History.read(path)
    assert [record.status for record in history.turns] == [
        "started", "completed", "started", "interrupted", "started", "completed",
    ]  # fmt: skip
    (cut,) = [item for item in map(json.loads, history.items.raw(0)) if item.get("call_id") == "call_cut"
              and item["type"].endswith("_output")]  # fmt: skip
    assert cut["output"].startswith("interrupted")


class Seen:
    def __init__(self) -> None:
        self.updates: list[TurnEvent] = []
        self._more = asyncio.Event()

    def __call__(self, update: TurnEvent) -> None:
        self.updates.append(update)
        self._more.set()

    async def until(self, kind: type[TurnEvent]) -> TurnEvent:
        async with asyncio.timeout(30):
            while not (found := [update for update in self.updates if isinstance(update, kind)]):
                self._more.clear()
                await self._more.wait()
        return found[0]


def _options(env: dict[str, str], observer: Observer, moved: list[str] | None = None) -> OpenOptions:
    settings = HostOptions(roots=(), client="x", as_it_was=True, env=env)

    def note(session_id: str, move: str, text: str) -> None:
        if moved is not None:
            moved.append(move)

    return OpenOptions(settings=lambda model: settings, observer=observer, moved=note, wait=True)


@asynccontextmanager
async def _opened(env: dict[str, str], session: str, observer: Observer) -> AsyncIterator[SessionHost]:
    manager = SessionManager(env, SystemClock())
    try:
        yield await manager.open(session, _options(env, observer))
    finally:
        await manager.close()


async def test_what_is_said_from_outside_has_one_fate_and_a_watcher_sees_it(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    (tmp_path / "project").mkdir()
    here, there = Seen(), Seen()
    options = HostOptions(roots=(tmp_path / "project",), client="test", flags={"model": "scripted:slow"}, env=env)
    async with host_session(options, observer=here) as hosted:
        session = hosted.session.id
        with pytest.raises(SessionHeld):
            async with host_session(HostOptions(roots=(), client="x", resume=session, as_it_was=True, env=env)):
                pass
        async with _opened(env, session, there) as attached:
            assert attached.view().place == "attached"
            first = await attached.say("talk")
            assert (first.fate, first.input_id) == ("started", None)
            handle = hosted.session.turns[-1]
            assert handle.turn == first.turn
            await here.until(TextDelta)
            said = await attached.say("and one thing more")
            assert (said.fate, said.turn) == ("steered", handle.turn)
            assert (await attached.ended(handle.turn)).status == "completed"
            hosted.session.steer(handle.turn, "for later")
            assert isinstance(await there.until(SessionOpened), SessionOpened)
            taken = [update for update in there.updates if isinstance(update, InputTaken)]
            assert [(update.text, update.fate) for update in taken][:1] == [("and one thing more", "steered")]

            again = await attached.say("talk again")
            assert again.fate == "started" and again.turn != handle.turn
            handle = hosted.session.turns[-1]
            await attached.cancel(handle.turn)
            async with asyncio.timeout(30):
                assert (await handle.done).status == "cancelled"
                assert (await attached.ended(handle.turn)).status == "cancelled"
    texts = b"".join(History.read(state_dir(env) / "sessions" / f"{session}.jsonl").items.raw(0))
    assert texts.count(b"and one thing more") == texts.count(b"for later") == 1


async def test_a_host_that_ends_is_noticed(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    (tmp_path / "project").mkdir()
    seen, moved = Seen(), list[str]()
    options = HostOptions(
        roots=(tmp_path / "project",), client="test", flags={"model": "scripted"}, remote_turns=False, env=env
    )
    host = host_session(options)
    hosted = await host.__aenter__()
    manager = SessionManager(env, SystemClock())
    attached = await manager.open(hosted.session.id, _options(env, seen, moved))
    try:
        said = await attached.say("for whoever hosts the session")  # its host starts nothing for others, and ends
        waiting = asyncio.ensure_future(attached.ended(said.turn))
        await seen.until(SessionOpened)
        await host.__aexit__(None, None, None)
        async with asyncio.timeout(30):
            assert (await waiting).status == "completed"
        assert (attached.view().place, moved) == ("live", ["attached", "lost", "live"])
    finally:
        await manager.close()


def _session_of(process: subprocess.Popen[str]) -> tuple[str, list[dict[str, Any]]]:
    """Read the process's lines until its model speaks; the session's id."""
    assert process.stdout is not None
    lines: list[dict[str, Any]] = []
    while not lines or lines[-1]["type"] != "text.delta":
        lines.append(json.loads(process.stdout.readline()))
    return next(line["sessionId"] for line in lines if line["type"] == "session.opened"), lines


async def test_a_second_process_attaches_says_its_task_and_ends_as_the_turn_does(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "project").mkdir()
    async with puppet() as model:
        env = puppet_env(home, model)
        task = steps({"hold": "here", "text": "one"}, {"text": "two"})
        host = started("run", task, "-w", str(tmp_path / "project"), "--json", env=env)
        assert host.stdout is not None
        await model.reached("here")
        lines: list[dict[str, Any]] = []
        while not lines or lines[-1]["type"] != "turn.started":
            lines.append(json.loads(await asyncio.to_thread(host.stdout.readline)))
        session = next(line["sessionId"] for line in lines if line["type"] == "session.opened")
        second = asyncio.create_task(
            asyncio.to_thread(loopline, "run", "and this", "--resume", session, "--json", env=env)
        )
        while lines[-1]["type"] != "input":
            lines.append(json.loads(await asyncio.to_thread(host.stdout.readline)))
        model.release("here")
        said: Done = await second
        rest, err = await asyncio.to_thread(host.communicate, timeout=60)
    assert host.returncode == said.code == 0, (err, said.err)
    assert (said.summary["status"], said.summary["calls"], said.summary["connections"]) == ("completed", 2, 1)
    ends = [line for line in map(json.loads, rest.splitlines()) if line["type"] == "turn.finished"]
    assert [line for line in said.lines if line["type"] == "turn.finished"] == ends
    assert any(line["type"] == "notice" and "attached to process" in line["text"] for line in said.lines)
    summary = json.loads(rest.splitlines()[-1])
    for figure in ("calls", "input_tokens", "output_tokens", "bytes_up"):
        warm_up = 0 if figure != "bytes_up" else summary[figure] - said.summary[figure]
        assert said.summary[figure] + warm_up == summary[figure]
    assert wait_until_none(home, 5) == {}


def test_a_dead_hosts_session_is_taken_over(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = environment(home)
    (tmp_path / "project").mkdir()
    host = started("run", "talk", "-w", str(tmp_path / "project"), "--model", "scripted:slow", "--json", env=env)
    session, _ = _session_of(host)
    host.kill()
    host.communicate(timeout=10)
    second = loopline("run", "go on", "--resume", session, "--model", "scripted", "--json", env=env)
    assert second.code == 0, second.err
    history = History.read(Path(env["XDG_STATE_HOME"]) / "loopline" / "sessions" / f"{session}.jsonl")
    assert [record.status for record in history.turns] == ["started", "interrupted", "started", "completed"]
    assert wait_until_none(home, 5) == {}


def test_an_update_of_a_newer_version_is_passed_over() -> None:
    assert read_event(b'{"type":"hologram","turnId":"t"}') is None
    assert read_event(b'{"type":"notice","severity":"info","text":"x"}') == Notice(severity="info", text="x")
    end = TurnEnded(session_id="s", turn_id="t", status="failed", text="x", duration_ms=1.0)
    assert (
        read_event(
            b'{"type":"turn.finished","sessionId":"s","turnId":"t","status":"failed","text":"x","durationMs":1.0}'
        )
        == end
    )
