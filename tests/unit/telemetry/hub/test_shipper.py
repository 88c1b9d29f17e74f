"""Shipping to a real hub process that is killed, restarted and misbehaves."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.codec import encode_event
from agent_core.telemetry.hub import shipper as shipping
from agent_core.telemetry.hub.hub_client import is_exposed, shown_url
from agent_core.telemetry.hub.shipper import HOLD_S, POLL_S, STANDBY_S, Shipper
from agent_core.telemetry.journal.layout import journal_dir, list_journals
from agent_core.telemetry.journal.reader import Feed
from agent_core.telemetry.journal.sink import JournalSink
from tests.support.telemetry.scene import Scene

ROOT = Path(__file__).parents[4]
TOKEN = "a-token-for-the-hub"
FIRST, SECOND = "h000000-1-aaaaaa", "h000000-2-bbbbbb"


class HubProcess:
    """A hub that can be killed and started again on its port."""

    def __init__(self, store: Path) -> None:
        self.store, self.port = store, 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.support.telemetry.hub", str(self.store), str(self.port), TOKEN]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=20)

    def mode(self, text: str) -> None:
        self.store.with_suffix(".mode").write_text(text)

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.store.read_text().splitlines()] if self.store.exists() else []


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    process = HubProcess(tmp_path / "store")
    yield process
    process.kill()


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path / "state"


def written(state_dir: Path, source: str, turns: int) -> Scene:
    sink = JournalSink(state_dir, source)
    scene = Scene(sink, source=source, session=source)
    scene.start_session()
    for _ in range(turns):
        scene.start_turn()
        scene.call()
        scene.tool(3)
        scene.finish_turn()
    sink.close(10)
    return scene


def trouble(shipper: Shipper) -> str | None:
    return shipper.status.trouble


def standby(shipper: Shipper) -> bool:
    return shipper.status.standby


def ship(shipper: Shipper, steps: int = 200) -> float:
    """Steps until there is something to wait for; what it would wait."""
    for _ in range(steps):
        delay_s = shipper.step()
        if delay_s > 0:
            return delay_s
    raise AssertionError("it ships without end")


def plain(events: list[ev.Event]) -> list[Any]:
    return [json.loads(encode_event(event)) for event in events]


def test_everything_arrives_once_and_in_order(hub: HubProcess, state_dir: Path) -> None:
    first, second = written(state_dir, FIRST, 3), written(state_dir, SECOND, 200)
    shipper = Shipper(state_dir, hub.url, TOKEN)
    assert ship(shipper) == POLL_S
    for scene in (first, second):
        source = scene.events[0].source
        assert [event for event in hub.events() if event["source"] == source] == plain(scene.events)
    assert shipper.status.shipped == len(first.events) + len(second.events)
    assert shipper.status.trouble is None
    again = Shipper(state_dir, hub.url, TOKEN)
    assert ship(again) == STANDBY_S, "the first one still ships"
    assert standby(again)
    shipper.close()
    assert ship(again) == POLL_S
    assert not standby(again)
    again.close()


def test_a_hub_that_is_killed_and_restarted_loses_and_doubles_nothing(hub: HubProcess, state_dir: Path) -> None:
    scenes = []
    for number in range(6):
        source = f"h000000-{number}-cccccc"
        scenes.append(written(state_dir, source, 40 * (number + 1)))
        hub.mode("drop" if number % 3 == 0 else "")
        shipper = Shipper(state_dir, hub.url, TOKEN)
        shipper.step()
        hub.kill()
        assert ship(shipper) > 0
        assert trouble(shipper) is not None
        hub.mode("half" if number % 2 else "")
        hub.start()
        assert ship(shipper, 2_000) == POLL_S
        assert trouble(shipper) is None
        shipper.close()
    kept = hub.events()
    assert len({(event["source"], event["seq"]) for event in kept}) == len(kept)
    for scene in scenes:
        source = scene.events[0].source
        assert [event for event in kept if event["source"] == source] == plain(scene.events)


def test_what_a_killed_process_left_is_shipped_by_the_next(hub: HubProcess, state_dir: Path) -> None:
    command = [sys.executable, "-m", "tests.support.telemetry.writer", str(state_dir), FIRST, "turn"]
    writer = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    shipper = Shipper(state_dir, hub.url, TOKEN)
    assert ship(shipper) == POLL_S
    assert [event["seq"] for event in hub.events()] == list(range(1, 8)), "shipped while it runs"
    shipper.close()
    writer.send_signal(signal.SIGKILL)
    writer.communicate(timeout=20)
    for _ in range(2):
        later = Shipper(state_dir, hub.url, TOKEN)
        assert ship(later) == POLL_S
        later.close()
    kept = hub.events()
    assert [event["seq"] for event in kept] == list(range(1, 11))
    assert [event.get("status") for event in kept[7:]] == ["interrupted", None, "interrupted"]


def test_a_lost_cursor_costs_a_repetition_and_no_double(hub: HubProcess, state_dir: Path) -> None:
    scene = written(state_dir, FIRST, 5)
    for text in (None, b"{torn"):
        shipper = Shipper(state_dir, hub.url, TOKEN)
        if text is not None:
            shipper._cursor_path.write_bytes(text)
        assert ship(shipper) == POLL_S
        shipper.close()
        assert hub.events() == plain(scene.events)


def test_backoff_grows_and_honours_retry_after(
    hub: HubProcess, state_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "agent_core.telemetry")
    written(state_dir, FIRST, 1)
    shipper = Shipper(state_dir, hub.url, TOKEN)
    hub.mode("503")
    delays = [shipper.step() for _ in range(12)]
    assert all(0.5 * min(HOLD_S, 2.0**n) <= delay <= min(HOLD_S, 2.0**n) for n, delay in enumerate(delays))
    hub.mode("429 1234")
    assert shipper.step() == 1234
    hub.mode("html")
    assert shipper.step() > 0
    hub.mode("moved")
    assert shipper.step() > 0
    assert "HTTP 302" in str(shipper.status.trouble)
    hub.mode("")
    assert ship(shipper) == POLL_S
    hub.mode("503")
    shipper.close()
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("agent_core")]
    assert len(lines) == 2, "one line when it begins, one when it is over"
    assert TOKEN not in "".join(lines)


def test_a_refused_token_is_one_warning_and_a_long_pause(
    hub: HubProcess, state_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = written(state_dir, FIRST, 1)
    shipper = Shipper(state_dir, hub.url, "wrong")
    assert [ship(shipper), ship(shipper)] == [HOLD_S, HOLD_S]
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "refuses the hub token" in record.getMessage()
    assert "wrong" not in record.getMessage()
    shipper.close()
    right = Shipper(state_dir, hub.url, TOKEN)
    assert ship(right) == POLL_S
    assert hub.events() == plain(scene.events)
    right.close()


def test_a_batch_too_large_is_halved(hub: HubProcess, state_dir: Path) -> None:
    scene = written(state_dir, FIRST, 60)
    hub.mode("413 7")  # lines
    shipper = Shipper(state_dir, hub.url, TOKEN)
    assert ship(shipper, 2_000) == POLL_S
    assert hub.events() == plain(scene.events)
    assert shipper.status.refused == 0
    shipper.close()


def test_an_event_the_hub_does_not_take_stops_nothing(hub: HubProcess, state_dir: Path) -> None:
    scene = written(state_dir, FIRST, 4)
    hub.mode("400 tool.finished")
    shipper = Shipper(state_dir, hub.url, TOKEN)
    assert ship(shipper, 2_000) == POLL_S
    assert hub.events() == [event for event in plain(scene.events) if event["type"] != "tool.finished"]
    assert shipper.status.refused == 4
    shipper.close()


def test_a_hub_that_takes_nothing_loses_nothing(hub: HubProcess, state_dir: Path) -> None:
    sink = JournalSink(state_dir, FIRST)
    scene = Scene(sink, source=FIRST)
    for _ in range(60):
        scene.emit(ev.ConnectionPrewarmed())
    sink.close(10)
    hub.mode("400 connection.prewarmed")
    shipper = Shipper(state_dir, hub.url, TOKEN)
    assert ship(shipper, 2_000) == pytest.approx(HOLD_S, rel=0.01)
    assert "refuses every event" in str(shipper.status.trouble)
    refused = shipper.status.refused
    hub.mode("")
    assert ship(shipper, 2_000) == POLL_S
    assert len(hub.events()) == 60 - refused
    assert refused == 10
    shipper.close()


def test_content_is_stripped_unless_wanted(hub: HubProcess, state_dir: Path, tmp_path: Path) -> None:
    sink = JournalSink(state_dir, FIRST, content=True)
    scene = Scene(sink, source=FIRST)
    scene.emit(ev.Content(session="s", kind="user", text="my prompt"))
    scene.emit(
        ev.ApprovalResolved(
            approval="a",
            kind="command",
            decision="always",
            waited_ms=1.0,
            rule="shell: rm -rf /home/me/secret",
            by="tui",
        )
    )
    scene.emit(ev.ConnectionFallback(cause="could not open /home/me/secret"))
    scene.send(model="/home/me/secret.gguf")
    scene.send(model="openai/gpt-5:free")
    scene.complete("c", 1, status="failed", error_code="Traceback: /home/me/secret")
    sink.close(10)
    shipper = Shipper(state_dir, hub.url, TOKEN)
    assert ship(shipper) == POLL_S
    shipper.close()
    kept = hub.store.read_text()
    assert "secret" not in kept
    assert "my prompt" not in kept
    resolved, fallback, local, named, failed, *_ = hub.events()
    assert (resolved["kind"], resolved["by"], "rule" in resolved) == ("command", "tui", False)
    assert ("cause" in fallback, local["model"], named["model"]) == (False, "removed", "openai/gpt-5:free")
    assert "error_code" not in failed
    (tmp_path / "open").mkdir()
    other = HubProcess(tmp_path / "open" / "store")
    try:
        wanting = Shipper(state_dir, other.url, TOKEN, keep_content=True)
        assert ship(wanting) == POLL_S
        wanting.close()
        assert other.events()[0]["rule"] == "shell: rm -rf /home/me/secret"
        assert "my prompt" not in other.store.read_text(), "prompts stay here in any case"
    finally:
        other.kill()


def test_a_thread_ships_and_its_end_is_bounded(hub: HubProcess, state_dir: Path) -> None:
    scene = written(state_dir, FIRST, 3)
    shipper = Shipper(state_dir, hub.url, TOKEN)
    shipper.start()
    shipper.close(20)
    assert not shipper._thread.is_alive()
    assert hub.events() == plain(scene.events), "the end ships what is there"
    hub.mode("503")
    written(state_dir, SECOND, 3)
    stuck = Shipper(state_dir, hub.url, TOKEN)
    started = time.monotonic()
    stuck.start()
    stuck.close(30)
    assert time.monotonic() - started < 30
    assert not stuck._thread.is_alive()


def test_the_cursor_is_written_as_a_whole_and_forgets_vanished_journals(hub: HubProcess, state_dir: Path) -> None:
    written(state_dir, FIRST, 2)
    shipper = Shipper(state_dir, hub.url, TOKEN)
    ship(shipper)
    saved = json.loads(shipper._cursor_path.read_bytes())
    assert saved == {"seqs": {FIRST: 15}, "finished": [FIRST]}
    for file in list_journals(state_dir):
        Path(file.path).unlink()
    written(state_dir, SECOND, 1)
    ship(shipper)
    saved = json.loads(shipper._cursor_path.read_bytes())
    assert set(saved["seqs"]) == set(saved["finished"]) == {SECOND}
    assert [path.name for path in journal_dir(state_dir).glob("*.new")] == []
    shipper.close()


def test_an_unusable_state_directory_is_a_pause(hub: HubProcess, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("no directory")
    shipper = Shipper(place, hub.url, TOKEN)
    assert shipper.step() > 0
    assert shipper.status.trouble is not None


def test_large_events_are_batched_by_bytes(hub: HubProcess, state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "MAX_BATCH_BYTES", 2_000)
    scene = written(state_dir, FIRST, 30)
    shipper = Shipper(state_dir, hub.url, TOKEN)
    shipper.step()
    assert 0 < len(hub.events()) < 20
    assert ship(shipper, 2_000) == POLL_S
    assert hub.events() == plain(scene.events)
    shipper.close()


def test_a_feed_cursor_survives_json(state_dir: Path) -> None:
    written(state_dir, FIRST, 1)
    feed = Feed(state_dir)
    feed.poll()
    feed.close()
    assert msgspec.json.decode(msgspec.json.encode(feed.cursor), type=type(feed.cursor)) == feed.cursor


def test_addresses_are_shown_without_credentials() -> None:
    assert shown_url("https://me:pass@hub.example:8443/base?x=1") == "https://hub.example:8443"


@pytest.mark.parametrize(
    ("url", "exposed"),
    [
        ("https://hub.example", False),
        ("http://127.0.0.1:80", False),
        ("http://[::1]:80", False),
        ("http://localhost", False),
        ("http://hub.example", True),
        ("http://10.0.0.1", True),
    ],
)
def test_a_token_over_plain_http_is_exposed_beyond_loopback(url: str, exposed: bool) -> None:
    assert is_exposed(url) is exposed
