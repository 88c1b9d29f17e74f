"""`loopline export` and `loopline hub`: telemetry out of this machine, for its user or for a team."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

from agent_core.cli.console import make_console
from agent_core.cli.providers.keys import read_secret
from agent_core.clock import SystemClock
from agent_core.config.load import keep_setting, load
from agent_core.config.paths import state_dir
from agent_core.errors import UsageError
from agent_core.keys import Keys
from agent_core.telemetry.export.files import export
from agent_core.telemetry.hub.hub_client import HubClient, Outcome, shown_url
from agent_core.telemetry.hub.losses import read_losses
from agent_core.telemetry.hub.shipper import losses_path
from agent_core.telemetry.screen import say, standard_output
from agent_core.untrusted_files import open_to_write
from agent_core.variables import variables


def export_events(
    *, format: str, since: str | None, session: str | None, model: str | None, output: Path | None
) -> None:
    try:
        with os.fdopen(open_to_write(output), "wb") if output is not None else nullcontext(standard_output()) as out:
            now_ns = SystemClock().wall_ns()
            states = state_dir(variables())
            done = export(states, out, format=format, now_ns=now_ns, since=since, session=session, model=model)
    except OSError as error:
        raise UsageError(f"cannot write {output or 'to standard output'}: {error.strerror}") from None
    for line in (*done.notices, f"{done.events} events"):
        say(line)


def join_hub(url: str) -> None:
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url[:100]!r} is no URL", hint="loopline hub join https://hub.example < token-file")
    env = variables()
    keys = Keys(env)
    keys.set("hub", read_secret(f"token of {url}"), url)
    keep_setting(env, "hub.url", url.rstrip("/"))
    make_console().print(f"Joined {url}. The token is kept in {keys.where}.", soft_wrap=True)


def leave_hub() -> None:
    env = variables()
    keep_setting(env, "hub.url", None)
    Keys(env).remove("hub")
    make_console().print("Nothing is pushed any more.")


def hub_state() -> int:
    """0 if the hub takes our token, 1 if not, 2 if none is joined."""
    env = variables()
    url = load(env=env).settings.hub_url
    token = Keys(env).get("hub", url) if url else None
    console = make_console()
    if not url or not token:
        console.print("No hub is joined: loopline hub join URL")
        return 2
    client = HubClient(url, token)
    try:
        answer = client.probe()
    finally:
        client.close()
    reached = answer.outcome is Outcome.ACKED
    words = "takes our token" if reached else f"does not take what we push: {answer.detail}"
    console.print(f"{shown_url(url)} {words}", soft_wrap=True)
    losses = read_losses(losses_path(state_dir(env), url))
    if losses.count:
        lost = f"It did not keep {losses.count} events ({losses.refused} refused, {losses.late} late): {losses.reason}"
        console.print(lost, soft_wrap=True)
    return 0 if reached else 1
