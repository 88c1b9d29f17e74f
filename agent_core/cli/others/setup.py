"""`loopline hub setup AGENT`: the configuration that points another agent's own exporter at a hub, shown or written.

What is shown has a word in the token's place, so that it may be copied into notes; what is written has the token, in a
file of the user's that nobody else can read. Nothing is written without the user's yes.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent_core.cli.console import make_console
from agent_core.cli.providers.keys import read_secret
from agent_core.config.load import load
from agent_core.config.paths import config_dir
from agent_core.errors import FileRefused, UsageError
from agent_core.keys import Keys
from agent_core.telemetry.screen import put, say
from agent_core.untrusted_files import parse_toml
from agent_core.variables import variables

PLACE = "TOKEN"
"""Stands for the token in what is shown."""


class Plan(msgspec.Struct, frozen=True):
    """What an agent needs: the file, the part that is shown, and its whole text once it is added to what was there."""

    file: Path
    shown: str
    text: str
    hint: str = ""


def setup_agent(agent: str, *, url: str | None, write: bool, yes: bool) -> None:
    """Raises `UsageError` for an agent that is not known, and for a file that can't be added to."""
    env = variables()
    make = AGENTS.get(agent)
    if make is None:
        raise UsageError(f"{agent[:40]!r}: expected one of {', '.join(AGENTS)}")
    url = (url or load(env=env).settings.hub_url or "").rstrip("/")
    if not url.startswith(("http://", "https://")) or any(char in url for char in "\"'\\\n "):
        raise UsageError("which hub? --url https://hub.example", hint="or join one: loopline hub join URL")
    shown = make(env, url, PLACE)
    if not write:
        put(shown.shown)
        say(f"\nFor {shown.file}. {PLACE}: a token of role agent (loopline web token add NAME@{agent} --role agent).")
        say(shown.hint or f"To have it written: loopline hub setup {agent} --write")
        return
    if not yes and not _agreed(f"Add this to {shown.file}?\n\n{shown.shown}\n"):
        raise UsageError("nothing was written", hint="--yes writes without asking")
    token = Keys(env).get("hub", url) or read_secret(f"token of {url}")
    _write(make(env, url, token.strip()))
    make_console().print(f"Written to {shown.file}. {shown.hint}".rstrip(), soft_wrap=True)


def _codex(env: Mapping[str, str], url: str, token: str) -> Plan:
    """Source: measured with Codex 0.171. Logs tell its calls; traces tell when a turn ended."""
    file = Path(env.get("CODEX_HOME") or _home(env) / ".codex") / "config.toml"
    lines: list[str] = []
    for table, path in (("exporter", "logs"), ("trace_exporter", "traces")):
        lines += [
            f"[otel.{table}.otlp-http]",
            f'endpoint = "{url}/v1/{path}"',
            'protocol = "binary"',
            f'headers = {{ "Authorization" = "Bearer {token}" }}',
        ]
    before = _read(file)
    try:
        there = "otel" in parse_toml(before.encode())
    except (FileRefused, ValueError):
        raise UsageError(f"{file} is no TOML; mend it first") from None
    if there and token != PLACE:
        raise UsageError(f"{file} has a table [otel] already; change it by hand")
    shown = "\n".join(lines)
    return Plan(file, shown, f"{before.rstrip()}\n\n{shown}\n".lstrip())


def _copilot(env: Mapping[str, str], url: str, token: str) -> Plan:
    """Source: measured with Copilot CLI 1.0.102, which is told by variables alone."""
    file = config_dir(env) / "copilot-otel.env"
    lines = [
        f"export OTEL_EXPORTER_OTLP_ENDPOINT='{url}'",
        f"export OTEL_EXPORTER_OTLP_HEADERS='Authorization=Bearer {token}'",
    ]
    shown = "\n".join(lines)
    return Plan(file, shown, f"{shown}\n", hint=f"In the shell that starts it: . '{file}'; copilot")


def _claude(env: Mapping[str, str], url: str, token: str) -> Plan:
    """Source: https://code.claude.com/docs/en/monitoring-usage. Logs alone: its metrics are their sums."""
    file = Path(env.get("CLAUDE_CONFIG_DIR") or _home(env) / ".claude") / "settings.json"
    added = {
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer {token}",
    }
    try:
        before: Any = json.loads(_read(file) or "{}")
    except ValueError:
        before = None
    if not isinstance(before, dict) or not isinstance(before.get("env", {}), dict):
        raise UsageError(f"{file} is no object with settings; mend it first")
    whole = {**before, "env": {**before.get("env", {}), **added}}
    return Plan(file, json.dumps({"env": added}, indent=2), json.dumps(whole, indent=2, ensure_ascii=False) + "\n")


AGENTS: dict[str, Callable[[Mapping[str, str], str, str], Plan]] = {
    "codex": _codex,
    "copilot": _copilot,
    "claude": _claude,
}


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} can't be read: {error}") from None


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here", hint="--yes writes without asking")
    say(f"{question}\n[y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _write(plan: Plan) -> None:
    """Whole or not at all, owner-only."""
    private = plan.file.with_name(f"{plan.file.name}.{os.getpid()}.new")
    try:
        plan.file.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as out:
            out.write(plan.text)
        private.replace(plan.file.resolve())
    except OSError as error:
        raise UsageError(f"{plan.file} can't be written: {error.strerror}") from None
