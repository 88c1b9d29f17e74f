"""`loopline tui`: what the command line calls."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path

from agent_core.clock import Clock, SystemClock
from agent_core.collector import calm_collector
from agent_core.config.load import load
from agent_core.config.paths import runtime_dir, state_dir
from agent_core.errors import UsageError
from agent_core.telemetry.rollup.figures import Targets
from agent_core.telemetry.rollup.prices import LIST_PRICES
from agent_core.variables import variables
from dashboard.feed import EventFeed, JournalFollower, Replay
from dashboard.state.fold import State


def tui_command(*, replay: Path | None, speed: float, hub: str | None) -> int:
    """Run the terminal dashboard until it is quit; the exit code.

    `replay` plays a journal or an NDJSON export again, `speed` times as fast (0: at once). `hub` follows a team hub.
    None for both: the journals of this machine. What a good turn is, and own prices, come from the user's
    configuration. Raises `UsageError`, `ConfigError` and `StateError` before anything is drawn.
    """
    from dashboard.tui.app import MAX_TURNS, Dashboard
    from dashboard.tui.control import ControlLink

    if replay is not None and hub is not None:
        raise UsageError("--replay and --hub exclude each other")
    if not 0 <= speed <= 10_000:
        raise UsageError(f"--speed is from 0 (at once) to 10000, not {speed:g}")
    open_feed, source = feed_of(replay=replay, speed=speed, hub=hub, clock=SystemClock())
    control = None if replay is not None or hub is not None else ControlLink(runtime_dir(variables()))
    settings = load().settings
    prices = LIST_PRICES.with_prices(LIST_PRICES.date, settings.prices, "settings")
    new_state = partial(State, prices=prices, targets=Targets(**settings.targets), max_turns=MAX_TURNS)
    app = Dashboard(open_feed, zone=local_zone(), source=source, control=control, new_state=new_state)
    calm_collector()
    return app.run() or app.return_code or 0


def feed_of(
    *, replay: Path | None, speed: float, hub: str | None, clock: Clock
) -> tuple[Callable[[int], EventFeed], str]:
    """How to open the feed for some days of history, and what to call it."""
    if replay is not None:
        played = Replay(replay, speed=speed, clock=clock)
        return (lambda days: played), f"replay x{speed:g}" if speed else "replay"
    if hub is not None:
        from dashboard.tui.hub_feed import open_hub

        return open_hub(hub, variables(), clock), "hub"
    folder = state_dir(variables())
    return (lambda days: JournalFollower(folder, since=since(clock.wall_ns(), days), clock=clock)), "live"


def since(now_ns: int, days: int) -> str:
    """The day (UTC) from whose journals on to read, so that the last `days` days of any time zone are whole."""
    return (datetime.fromtimestamp(now_ns / 1e9, UTC) - timedelta(days=days)).date().isoformat()


def local_zone() -> tzinfo:
    return datetime.now().astimezone().tzinfo or UTC
