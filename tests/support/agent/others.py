"""Real coding agents of others, unchanged and offline against a service of ours, perhaps exporting to a hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from tests.support.service.clients import CODEX, COPILOT, OPENCODE, ready, run
from tests.support.service.running import KEY


class ExportTo(msgspec.Struct, frozen=True):
    """A hub and an ingest token."""

    url: str
    token: str


_CODEX_CONFIG = """
model = "{model}"
model_provider = "local"
{otel}
[model_providers.local]
name = "Local"
base_url = "{base_url}"
env_key = "LOCAL_KEY"
wire_api = "responses"
supports_websockets = true
"""


async def codex(
    folder: Path, base_url: str, model: str, task: str, workspace: Path, *, key: str = KEY, otel: str = ""
) -> list[Any]:
    """`codex exec` in a workspace, without its sandbox and approvals; its events.

    `otel`: lines for its configuration.
    """
    home = folder / "codex-home"
    home.mkdir()
    (home / "config.toml").write_text(_CODEX_CONFIG.format(model=model, base_url=base_url, otel=otel))
    command = [
        *(str(ready(CODEX).binary("codex")), "exec", "--json", "--skip-git-repo-check"),
        *("--dangerously-bypass-approvals-and-sandbox", "-C", str(workspace), task),
    ]
    code, out, err = await run(command, {"CODEX_HOME": str(home), "LOCAL_KEY": key}, cwd=workspace)
    assert code == 0, f"{err[-2000:]}\n{out[-2000:]}"
    return [json.loads(line) for line in out.splitlines()]


async def copilot(
    folder: Path, base_url: str, task: str, workspace: Path, *, key: str = KEY, env: dict[str, str] | None = None
) -> str:
    """`copilot -p` over WebSocket, offline and without a login; what it printed. It unpacks 235 MB, once."""
    home = folder / "copilot-home"
    home.mkdir()
    client = ready(COPILOT)
    told = {
        **_homes(home),
        "XDG_CACHE_HOME": str(client.folder / "unpacked"),
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": base_url,
        "COPILOT_PROVIDER_API_KEY": key,
        "COPILOT_PROVIDER_WIRE_API": "responses",
        "COPILOT_PROVIDER_TRANSPORT": "websockets",
        "COPILOT_MODEL": "scripted",
        **(env or {}),
    }
    code, out, err = await run([str(client.binary("copilot")), "-p", task, "--allow-all-tools"], told, cwd=workspace)
    assert code == 0, f"{err[-2000:]}\n{out[-2000:]}"
    return out + err


async def opencode(folder: Path, base_url: str, task: str, workspace: Path, *, key: str = KEY) -> list[Any]:
    """`opencode run` over HTTP; its events."""
    home = folder / "opencode-home"
    home.mkdir()
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 128_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai",
        "options": {"baseURL": base_url, "apiKey": key},
        "models": {"scripted": model},
    }
    config = {
        "provider": {"local": provider},
        "model": "local/scripted",
        "small_model": "local/scripted",
        "share": "disabled",
        "autoupdate": False,
        "permission": {"*": "allow"},
    }
    (workspace / "opencode.json").write_text(json.dumps(config))
    told = {
        **_homes(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_DATA_HOME": str(home / "data"),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "PWD": str(workspace),
    }
    command = [str(ready(OPENCODE).binary("opencode")), "run", "--dir", str(workspace), "--format", "json", task]
    code, out, err = await run(command, told, cwd=workspace)
    assert code == 0, f"{err[-2000:]}\n{out[-2000:]}"
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def _homes(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
    }
