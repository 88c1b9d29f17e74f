"""`loopline doctor`: what this machine has, and what to do about what is missing."""

from __future__ import annotations

import asyncio
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
from rich.text import Text

from agent_core import __version__, launch
from agent_core.cli.console import make_console
from agent_core.cli.jsonl import JsonLines
from agent_core.clock import SystemClock
from agent_core.config.load import load
from agent_core.config.paths import config_dir, runtime_dir, state_dir
from agent_core.errors import LooplineError
from agent_core.keys import Keys, origin_of
from agent_core.runtime.embedded import embedded_service
from agent_core.runtime.endpoint import choose
from agent_core.runtime.models import list_models
from agent_core.tools.commands.environment import command_environment
from agent_core.tools.mcp.server import Place, Server
from agent_core.tools.mcp.servers import Servers
from agent_core.tools.mcp.settings import read_servers
from agent_core.tools.sandbox.guarantees import CELLS, missing
from agent_core.tools.sandbox.sandbox import DESCRIPTIONS, find_sandbox
from agent_core.tools.search.engine import find_ripgrep
from agent_core.variables import variables


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`state` ok: fine. note: works, could be better. bad: something will fail; `remedy` says what to do."""

    name: str
    state: Literal["ok", "note", "bad"]
    detail: str
    remedy: str = ""


def run_doctor(*, json: bool) -> int:
    """0 unless something is bad."""
    findings = list(_findings())
    if json:
        lines = JsonLines()
        for finding in findings:
            lines.write(finding)
    else:
        console = make_console()
        marks = {"ok": ("✓", "green"), "note": ("•", "yellow"), "bad": ("✗", "bold red")}
        for finding in findings:
            mark, style = marks[finding.state]
            line = Text(f"{mark} ", style=style).append(f"{finding.name:<22}{finding.detail}", style="default")
            console.print(line, soft_wrap=True)
            if finding.remedy:
                console.print(f"  {'':<22}{finding.remedy}", style="dim", soft_wrap=True)
    return 1 if any(finding.state == "bad" for finding in findings) else 0


def _findings() -> Iterator[Finding]:
    env = variables()
    yield Finding(name="loopline", state="ok", detail=f"{__version__}, Python {platform.python_version()}")
    tested = platform.system() == "Linux"
    yield Finding(
        name="system",
        state="ok" if tested else "note",
        detail=platform.platform(terse=True),
        remedy="" if tested else "tested on Linux; macOS is meant to work, Windows through WSL",
    )
    yield _settings(env)
    for name, folder in (("state", state_dir(env)), ("sockets", runtime_dir(env))):
        yield _writable(name, folder)
    yield _key(env)
    yield asyncio.run(_provider(env))
    yield asyncio.run(_service(env))
    yield from _sandbox(env)
    yield from asyncio.run(_servers(env))
    remedy = "optional: searches of large trees are quicker with it; pip install 'loopline[search]' brings one"
    yield _program("ripgrep", find_ripgrep(env), remedy)
    yield _program("git", launch.find_program("git", env), "optional: needed for what git knows of a workspace")
    yield _program("python3", launch.find_program("python3", env), "needed to run a workspace's tests, or set `python`")


def _settings(env: dict[str, str]) -> Finding:
    try:
        load(workspace=Path.cwd(), env=env)
    except LooplineError as error:
        return Finding(name="settings", state="bad", detail=error.message, remedy="`loopline config` shows them")
    return Finding(name="settings", state="ok", detail=str(config_dir(env)))


def _writable(name: str, folder: Path) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        detail = f"{folder} can't be written ({error.strerror})"
        variable = "XDG_STATE_HOME" if name == "state" else "XDG_RUNTIME_DIR"
        return Finding(name=name, state="bad", detail=detail, remedy=f"set {variable} to a folder of yours")
    return Finding(name=name, state="ok", detail=str(folder))


def _key(env: dict[str, str]) -> Finding:
    source = Keys(env).source("openai")
    if source is None:
        detail = "no key is set: `run` uses the embedded service with the model `repair`"
        return Finding(name="key", state="note", detail=detail, remedy="`loopline auth set openai`")
    return Finding(name="key", state="ok", detail=f"of openai, from {source}")


async def _provider(env: dict[str, str]) -> Finding:
    """The service in use, asked for its models where it is not our own."""
    try:
        endpoint = choose(load(env=env).settings, env)
        if endpoint.listed_at is None:
            return Finding(name="provider", state="ok", detail="the embedded service")
        where = endpoint.provider or origin_of(endpoint.listed_at[0])
        found = await list_models(*endpoint.listed_at)
    except LooplineError as error:
        return Finding(name="provider", state="bad", detail=error.message, remedy=error.hint or "")
    there = not endpoint.model or endpoint.model in {entry.id for entry in found}
    detail = f"{where} lists {len(found)} models" + ("" if there else f", and {endpoint.model} is not among them")
    return Finding(name="provider", state="ok" if there else "note", detail=detail, remedy="`loopline models`")


async def _service(env: dict[str, str]) -> Finding:
    clock = SystemClock()
    started_ns = clock.mono_ns()
    try:
        async with embedded_service(env, clock):
            took_s = (clock.mono_ns() - started_ns) / 1e9
    except LooplineError as error:
        return Finding(name="embedded service", state="bad", detail=error.message, remedy=error.hint or "")
    return Finding(name="embedded service", state="ok", detail=f"starts in {took_s:.1f} s")


def _sandbox(env: dict[str, str]) -> Iterator[Finding]:
    """Which one holds, and what of its guarantees does not."""
    found = find_sandbox(env)
    try:
        off = load(env=env).settings.sandbox == "off"
    except LooplineError:
        off = False
    if off:
        yield Finding(name="sandbox", state="note", detail="switched off", remedy='set `sandbox = "auto"`')
        return
    gaps = missing(found.kind, namespaces=found.namespaces)
    remedy = 'install bubblewrap (`bwrap`), or let commands ask: `approve = "ask"`' if gaps else ""
    yield Finding(name="sandbox", state="note" if gaps else "ok", detail=DESCRIPTIONS[found.kind], remedy=remedy)
    for cell in gaps if found.kind != "none" else ():
        detail = f"does not hold here: {CELLS[cell]}"
        yield Finding(name=f"sandbox: {cell}", state="note", detail=detail, remedy="commands ask, also under `auto`")


async def _servers(env: dict[str, str]) -> list[Finding]:
    """Each MCP server of the user, started once to see what it offers."""
    try:
        settings = load(env=env).settings
        found = read_servers(settings.mcp)
    except LooplineError as error:
        return [Finding(name="mcp", state="bad", detail=error.message)]
    told: list[str] = []
    place = Place(
        roots=lambda: (str(Path.cwd()),),
        environment=command_environment(env, trusted=False, named=settings.environment),
        user_environment=env,
        tell=told.append,
    )
    servers = Servers(found, place)
    try:
        await servers.tools()
        return [_server(server) for server in servers.servers]
    finally:
        await servers.close()


def _server(server: Server) -> Finding:
    name, what = f"mcp.{server.name}", server.settings.described()
    if server.settings.approve == "never":
        return Finding(name=name, state="note", detail=f"{what}, never allowed")
    if server.problem:
        remedy = f"see `[{name}]` in config.toml"
        return Finding(name=name, state="bad", detail=f"{what}: {server.problem}", remedy=remedy)
    count = len(server.catalogue.offered)
    return Finding(name=name, state="ok" if count else "note", detail=f"{what}, {count} tools")


def _program(name: str, path: str | None, why: str) -> Finding:
    if path is None:
        return Finding(name=name, state="note", detail="not found", remedy=why)
    own = " (Loopline's own)" if Path(path).parent == Path(sys.executable).parent else ""
    return Finding(name=name, state="ok", detail=path + own)
