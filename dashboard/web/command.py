"""What `loopline web` and `loopline web token` do: plain functions with the options as typed."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

from agent_core import __version__, launch
from agent_core.clock import SystemClock
from agent_core.config.paths import state_dir
from agent_core.errors import UsageError
from agent_core.telemetry.log_lines import handler_to_stderr
from agent_core.telemetry.screen import put, say
from agent_core.variables import variables
from dashboard.hub.people import auth
from dashboard.hub.store.opening import is_postgres_address, missing_driver, open_people, store_folder
from dashboard.hub.store.port import People
from dashboard.state import format as fmt
from dashboard.web.launch import Running, WebOptions, serve_until_signal

DEFAULT_PORT = 4646


def web_command(
    *,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    public_url: str | None = None,
    store: str | None = None,
    ready_file: Path | None = None,
    open_browser: bool = False,
) -> int:
    """Serve the dashboard until a signal; gives the exit code.

    Raises ConfigError (options, address, no token for an address that others reach), StateError and StoreError.
    """
    _log_to_stderr()
    state = state_dir(variables())
    options = WebOptions(
        host=host, port=port, public_url=public_url, store=store, state_dir=state, ready_file=ready_file,
        version=__version__,
    )  # fmt: skip

    def announce(running: Running) -> None:
        say(f"loopline web: {running.url}")
        if sys.stderr.isatty():
            say(f"  this link signs you in, once: {running.link}")
        if not running.parts.site.loopback and public_url is None and host in ("", "0.0.0.0", "::"):
            say("  others are refused until --public-url says how they reach it")
        if open_browser:
            launch.browse(running.link)

    asyncio.run(serve_until_signal(options, announce))
    return 0


def token_add(name: str, *, role: str = "viewer", team: str, store: str | None = None) -> int:
    """Make a token and print it on stdout, this once. Raises UsageError for names, roles and teams that can't be."""
    people = _people(store)
    try:
        put(auth.add_token(people, SystemClock(), name, role, team))
    finally:
        people.close()
    return 0


def token_list(*, store: str | None = None) -> int:
    """Print the tokens, one a line: name, role, team, when it was made, and whether it was revoked."""
    people = _people(store)
    try:
        tokens = people.tokens()
    finally:
        people.close()
    for token in tokens:
        made = fmt.date_and_time(token.created_us * 1000)
        state = "revoked" if token.revoked_us is not None else "valid"
        put(f"{token.name:<24} {token.role:<9} {token.team:<16} {made}  {state}")
    if not tokens:
        say("no tokens yet; make one with: loopline web token add NAME --role viewer --team TEAM")
    return 0


def token_revoke(name: str, *, store: str | None = None) -> int:
    """Revoke a token; a running hub ends its sessions and streams at once. Raises AuthError if there is none."""
    people = _people(store)
    try:
        auth.revoke_token(people, SystemClock(), name)
    finally:
        people.close()
    return 0


def move_store(store: str | None, to: str) -> int:
    """Copy a folder's rows into a database; says each day on stderr, and what was moved on stdout.

    Raises as `store.moving.move`; `UsageError` for an address of no database.
    """
    if not is_postgres_address(to):
        raise UsageError("loopline hub move: expected postgresql://user:password@host:port/name")
    try:
        from dashboard.hub.store.moving import move
    except ImportError as error:
        raise missing_driver(error) from None
    moved = move(store_folder(store, state_dir(variables())), to, say)
    put(f"{moved.events} events, {moved.turns} turns, {moved.findings} troubles, {moved.others} other rows")
    return 0


def _people(store: str | None) -> People:
    return open_people(store, state_dir(variables()))


def _log_to_stderr() -> None:
    """Warnings and errors of ours, one a line; requests that are refused are among them."""
    root = logging.getLogger()
    root.setLevel(logging.WARNING)
    root.addHandler(handler_to_stderr())
