"""`loopline config` and `loopline trust`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_core.cli.console import make_console, make_table
from agent_core.cli.jsonl import JsonLines
from agent_core.config.load import keep_setting, load
from agent_core.config.settings import SETTINGS
from agent_core.errors import ConfigError, UsageError
from agent_core.telemetry.display import UNKNOWN, clean
from agent_core.tools.mcp.settings import read_servers
from agent_core.variables import variables


def show_config(workspace: Path, *, json: bool) -> None:
    loaded = load(workspace=workspace.resolve(), env=variables())
    rows = [(setting, getattr(loaded.settings, setting.field), loaded.origins[setting.field]) for setting in SETTINGS]
    if json:
        lines = JsonLines()
        for setting, given, origin in rows:
            value = _servers(given) if setting.key == "mcp" else given
            lines.write({"key": setting.key, "value": value, "layer": origin.layer, "where": origin.where,
                         "env": setting.row.env, "doc": setting.row.doc})  # fmt: skip
        return
    console = make_console()
    table = make_table()
    for name in ("key", "value", "from", "meaning"):
        table.add_column(name, overflow="fold")
    for setting, value, origin in rows:
        if setting.key == "mcp":
            value = ", ".join(f"{name}: {said}" for name, said in _servers(value).items()) or None
        shown = UNKNOWN if value is None or value in ((), {}) else str(value)
        table.add_row(setting.key, clean(shown), clean(origin.where or origin.layer), setting.row.doc)
    console.print(table)
    for key, path in loaded.ignored:
        console.print(f"ignored: `{key}` in {path}; a workspace may not set it", soft_wrap=True)


def _servers(tables: Mapping[str, Any]) -> dict[str, str]:
    """What may be shown of MCP servers: their tables can hold secrets."""
    try:
        return {
            name: f"{server.described()}, approve={server.approve}" for name, server in read_servers(tables).items()
        }
    except ConfigError as error:
        return {"?": error.message}


def trust_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}")
    if not str(folder.resolve()).isprintable():
        raise UsageError(f"the name of {folder} has characters that are no text", hint="rename the folder first")
    env = variables()
    trusted = load(env=env).settings.trusted
    keep_setting(env, "trusted", tuple(dict.fromkeys((*trusted, str(folder.resolve())))))
    make_console().print(f"{folder.resolve()} is trusted.", soft_wrap=True)
