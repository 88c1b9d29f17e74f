"""A folder that runs something by being opened: what is planted where processes of ours start never runs.

Whatever of it runs leaves its name in a file.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core import launch
from agent_core.clock import SystemClock
from agent_core.errors import EngineError
from agent_core.responses_server.engines.llama.settings import LlamaSettings
from agent_core.responses_server.engines.llama.trial import try_out
from agent_core.runtime.embedded import embedded_service
from tests.support.agent.git import git
from tests.support.lsp.client import LspClient, StreamWire, ended
from tests.support.system.cli import TIMEOUT_S, environment

MODULES = (
    "agent_core/__init__.py", "agent_core/__main__.py", "agent_core/cli/__init__.py", "dashboard/__init__.py",
    "lsp_server/__init__.py", "typing.py", "asyncio.py", "msgspec.py", "uvicorn.py", "encodings/__init__.py",
    "sitecustomize.py", "usercustomize.py", "startup.py",
)  # fmt: skip
PROGRAMS = (
    "git",
    "rg",
    "bwrap",
    "bash",
    "sh",
    "python3",
    "python",
    "npm",
    "ruff",
    "mypy",
    "loopline",
    "xdg-open",
    "true",
)
LOOPLINE = Path(sys.executable).with_name("loopline")


class Trap:
    """A hostile folder. `ran` names what ran of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._proof = folder / "hostile", folder / "ran"
        self.home = folder / "home"
        self.folder.mkdir()
        for name in MODULES:
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"open({str(self._proof)!r}, 'a').write({name!r} + '\\n')\n")
        (self.folder / "evil.pth").write_text(f"import os; open({str(self._proof)!r}, 'a').write('evil.pth\\n')\n")
        for name in PROGRAMS:
            (self.folder / name).write_text(f"#!/bin/sh\necho {name} >>'{self._proof}'\n")
            (self.folder / name).chmod(0o755)

    @property
    def ran(self) -> list[str]:
        return self._proof.read_text().splitlines() if self._proof.exists() else []

    def environment(self, **extra: str) -> dict[str, str]:
        """The user's own, with relative entries of PATH as some have them. PYTHON… variables are not the folder's to
        set for what the user starts, but must not go on from there."""
        env = environment(self.home, **extra)
        del env["PYTHONPATH"]
        return env | {"PATH": f".::{env['PATH']}"}

    async def loopline(self, *arguments: str) -> tuple[int, str, str]:
        """The installed command, started by a person in this folder."""
        process = await asyncio.create_subprocess_exec(
            LOOPLINE, *arguments, cwd=self.folder, env=self.environment(), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(TIMEOUT_S):
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


@pytest.fixture
def inside(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    """This process is in the folder, with variables that lead Python there."""
    monkeypatch.chdir(trap.folder)
    yield trap


LEADING = {
    "PYTHONPATH": ".",
    "PYTHONSTARTUP": "startup.py",
    "PYTHONHOME": "",
    "PYTHONUSERBASE": ".",
    "LD_LIBRARY_PATH": "",
}


async def test_run_starts_nothing_of_the_folder(trap: Trap) -> None:
    git(trap.folder, "init", "-q")
    code, out, err = await trap.loopline("run", "hello", "--model", "scripted", "--approve", "never", "--json")
    assert (code, trap.ran) == (0, []), out + err


async def test_doctor_starts_nothing_of_the_folder(trap: Trap) -> None:
    code, out, err = await trap.loopline("doctor")
    assert trap.ran == []
    assert code == 0 and "embedded service" in out, out + err
    assert str(trap.folder) not in out.replace(str(trap.folder.parent / "home"), "")


async def test_the_embedded_service_takes_nothing_from_there(inside: Trap) -> None:
    async with embedded_service(inside.environment() | LEADING, SystemClock()) as service:
        assert Path(f"/proc/{service.pid}/cwd").readlink() == Path(launch.NEUTRAL)
        given = Path(f"/proc/{service.pid}/environ").read_bytes().split(b"\0")
    assert inside.ran == []
    names = {entry.partition(b"=")[0].decode() for entry in given}
    assert not {name for name in names if name.startswith("PYTHON")}


async def test_a_service_gets_no_secret_that_it_does_not_need(inside: Trap) -> None:
    secrets = {"OPENAI_API_KEY": "k1", "LOOPLINE_HUB_TOKEN": "k2", "AWS_SECRET_ACCESS_KEY": "k3", "GITHUB_TOKEN": "k4"}
    async with embedded_service(inside.environment(**secrets), SystemClock()) as service:
        given = Path(f"/proc/{service.pid}/environ").read_text()
    assert not [value for value in secrets.values() if f"={value}\0" in given]


async def test_a_first_load_of_a_model_takes_nothing_from_there(inside: Trap, tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(64))
    with pytest.raises(EngineError):
        await try_out(broken, LlamaSettings(model=str(broken)), 128)
    assert inside.ran == []


async def test_the_dashboard_of_an_editor_takes_nothing_from_there(trap: Trap) -> None:
    process = await asyncio.create_subprocess_exec(
        LOOPLINE, "lsp", cwd=trap.folder, env=trap.environment(), limit=1 << 22,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    client = LspClient(StreamWire(process.stdout, process.stdin), process)
    try:
        await client.initialize(trap.folder)
        await client.command("loopline.dashboard.open", {})

        def shown() -> bool:
            return any(message["params"].get("external") for message in client.of("window/showDocument"))

        await client.until(shown)
        assert trap.ran == []
        await client.shutdown()
    finally:
        await client.close()
        await ended(process)


@pytest.mark.parametrize("path", [".", "", ".:", ":.", "relative/bin", "./", "../hostile"])
async def test_a_program_is_never_found_by_a_relative_entry(inside: Trap, path: str) -> None:
    env = {"PATH": f"{path}:{os.defpath}"}
    for name in ("sh", "true"):
        found = launch.find_program(name, env)
        assert found is not None and Path(found).is_absolute() and not found.startswith(str(inside.folder))
        process = await launch.start(
            [name, *(["-c", "sh -c :"] if name == "sh" else [])], environment=env, cwd=inside.folder
        )
        assert await process.wait() == 0
    assert inside.ran == []
    with pytest.raises(FileNotFoundError):
        launch.popen(["no-such-program"], environment=env)


def test_a_program_in_the_workspace_is_none_of_ours(trap: Trap, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(trap.folder)
    for folder in (trap.folder, link):
        env = {"PATH": f"{folder}:{os.environ['PATH']}"}
        found = launch.find_program("git", env, (str(trap.folder),))
        assert found is not None and not found.startswith((str(folder), str(trap.folder)))


def test_the_environment_of_a_process_of_ours_is_a_list() -> None:
    given = {
        "PATH": "/bin", "HOME": "/h", "XDG_STATE_HOME": "/s", "LOOPLINE_MODEL": "m", "LOOPLINE_API_KEY": "k",
        "LOOPLINE_UPSTREAM_KEY": "u", "OPENAI_API_KEY": "k", "LD_PRELOAD": "x", "PYTHONPATH": "x", "PYTHONHOME": "x",
        "PERL5LIB": "x", "NODE_OPTIONS": "x", "BASH_ENV": "x", "ENV": "x", "GIT_DIR": "x", "https_proxy": "p",
        "OTEL_EXPORTER_OTLP_HEADERS": "x", "SOME_TOKEN": "x",
    }  # fmt: skip
    kept = launch.own_environment(given, "LOOPLINE_UPSTREAM_KEY", EXTRA="1")
    assert set(kept) == {
        "PATH", "HOME", "XDG_STATE_HOME", "LOOPLINE_MODEL", "LOOPLINE_UPSTREAM_KEY", "https_proxy", "EXTRA"
    }  # fmt: skip
