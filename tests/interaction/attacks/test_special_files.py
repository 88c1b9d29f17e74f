"""Files of a repository that are none, or never end, or are nested without end: refused by name, in bounded time."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.agent.context.agents_files import AgentsFiles
from agent_core.config.load import load
from agent_core.errors import ConfigError, FileRefused
from agent_core.tools.checks.linters import configured
from agent_core.tools.checks.runners import look_at
from agent_core.tools.workspace.ignore import closed
from agent_core.untrusted_files import open_to_write, parse_toml, read, read_plain, read_start, read_toml
from tests.support.lsp.client import stdio
from tests.support.system.cli import environment, loopline

MOST_S = 20.0
Make = Callable[[Path], None]


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def _folder(path: Path) -> None:
    path.mkdir()


def _socket(path: Path) -> None:
    here = os.getcwd()  # noqa: PTH109
    os.chdir(path.parent)  # a socket's path is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _dangling(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


def _leads_out(path: Path) -> None:
    outside = path.parents[2] / "outside.txt"
    outside.write_text('model = "outside"\n')
    path.symlink_to(outside)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(5 << 30)


def _process(path: Path) -> None:
    path.symlink_to("/proc/self/environ")


SPECIAL: dict[str, Make] = {
    "pipe": _pipe, "endless": _endless, "terminal": _terminal, "folder": _folder, "socket": _socket, "loop": _loop,
    "leads out": _leads_out, "huge": _huge, "process": _process,
}  # fmt: skip

TEXTS = {
    "brackets": b"model = " + b"[" * 5_000,
    "closed brackets": b"model = " + b"[" * 5_000 + b"]" * 5_000,
    "tables": b"model = " + b"{a = " * 5_000,
    "a long key": b".".join([b"a"] * 30_000) + b" = 1",
    "a long quoted key": b'."x.y".'.join([b"a"] * 8_000) + b" = 1",
    "a long header": b"[" + b".".join([b"a"] * 30_000) + b"]",
    "digits": b"model = " + b"9" * 60_000,
    "zero bytes": b'model = "\0"',
    "not UTF-8": b'model = "\xff\xfe"',
    "a mark of UTF-16": "model = 'x'".encode("utf-16"),
    "garbage": os.urandom(4_096),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".loopline").mkdir(parents=True)
    return root


@pytest.mark.parametrize("kind", SPECIAL)
def test_a_settings_file_that_is_none(project: Path, tmp_path: Path, kind: str) -> None:
    SPECIAL[kind](project / ".loopline" / "config.toml")
    started = time.monotonic()
    with pytest.raises(ConfigError, match=r"config\.toml"):
        load(workspace=project, env=environment(tmp_path))
    assert time.monotonic() - started < MOST_S


@pytest.mark.parametrize("kind", TEXTS)
def test_a_settings_file_that_is_hard_to_read(project: Path, tmp_path: Path, kind: str) -> None:
    (project / ".loopline" / "config.toml").write_bytes(TEXTS[kind])
    started = time.monotonic()
    with pytest.raises(ConfigError, match=r"config\.toml"):
        load(workspace=project, env=environment(tmp_path))
    assert time.monotonic() - started < MOST_S


@pytest.mark.filterwarnings("ignore:Possible nested set")
@pytest.mark.parametrize("kind", [*SPECIAL, *TEXTS])
def test_all_else_that_is_read_of_a_project(project: Path, kind: str) -> None:
    names = ("AGENTS.md", "pyproject.toml", "setup.cfg", "package.json", "tox.ini", ".gitignore", ".looplineignore")
    for name in names:
        if kind in SPECIAL:
            (project.parent / "outside.txt").unlink(missing_ok=True)
            SPECIAL[kind](project / name)
        else:
            (project / name).write_bytes(TEXTS[kind])
    started = time.monotonic()
    assert kind in TEXTS or kind == "huge" or list(AgentsFiles([str(project)]).of_roots()) == []
    configured(project)
    look_at(project)
    closed(str(project), "a/b")
    assert time.monotonic() - started < MOST_S


async def test_every_command_says_what_is_wrong_and_ends(project: Path, tmp_path: Path) -> None:
    """`run` hung on a named pipe as settings file, and SIGTERM did nothing; `initialize` on one as an editor's."""
    _pipe(project / ".loopline" / "config.toml")
    for name in (".vscode/settings.json", ".zed/settings.json", ".neoconf.json", "x.code-workspace"):
        (project / name).parent.mkdir(exist_ok=True)
        _pipe(project / name)
    env = environment(tmp_path / "home")
    done = await asyncio.to_thread(loopline, "run", "hello", "-w", str(project), env=env)
    assert done.code == 2 and "config.toml" in done.err and "named pipe" in done.err
    assert "Traceback" not in done.err
    async with stdio(env) as client:
        await client.initialize(project)
        await client.shutdown()


@pytest.mark.parametrize("kind", SPECIAL)
def test_the_reader_takes_regular_files_alone(project: Path, kind: str) -> None:
    path = project / "sub" / "file"
    path.parent.mkdir()
    SPECIAL[kind](path)
    with pytest.raises(FileRefused) as refused:
        read(project, "sub/file", 1_000)
    assert refused.value.code in ("not_a_file", "too_large", "not_found")
    assert str(project) in refused.value.message
    if kind != "huge":
        assert read_start(project, "sub/file", 1_000) is None
    assert read_plain(str(path), 1_000) is None


def test_what_is_written_by_name_goes_through_no_link_and_waits_for_no_reader(project: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text("mine\n")
    (project / "answer.md").symlink_to(profile)
    (project / "new.md").symlink_to(tmp_path / "not-there")
    _pipe(project / "pipe.md")
    _socket(project / "socket.md")
    env = environment(tmp_path / "home")
    for name in ("answer.md", "new.md"):
        for command in (("run", "hello", "--model", "scripted", "-q", "-w", str(project)), ("export",)):
            done = loopline(*command, "-o", str(project / name), env=env)
            assert done.code == 2 and "a link" in done.err and not done.out, (command, name)
    for name in ("pipe.md", "socket.md"):
        with pytest.raises(FileRefused, match="not a regular file"):
            open_to_write(project / name)
    assert profile.read_text() == "mine\n" and not (tmp_path / "not-there").exists()


def test_links_count_where_they_stay_inside(project: Path) -> None:
    (project / "real.md").write_text("words")
    (project / "link.md").symlink_to("real.md")
    (project / "folder").symlink_to(".")
    assert read(project, "link.md", 10) == b"words"
    assert read(project, "folder/real.md", 10) == b"words"
    (project / "up").symlink_to("..")
    (project.parent / "secret").write_text("x")
    for name in ("up/secret", "../secret", "/etc/passwd", "a\0b"):
        with pytest.raises(FileRefused):
            read(project, name, 10)


def test_what_may_not_be_read_is_said(project: Path) -> None:
    (project / "closed").write_text("x")
    (project / "closed").chmod(0)
    if os.geteuid() != 0:
        with pytest.raises(FileRefused, match="permission denied"):
            read(project, "closed", 10)
    with pytest.raises(FileRefused) as missing:
        read(project, "missing", 10)
    assert missing.value.code == "not_found"
    assert read_toml(project / "missing.toml", project) is None


def test_a_file_that_fits_exactly(project: Path) -> None:
    (project / "file").write_bytes(b"x" * 10)
    assert read(project, "file", 10) == b"x" * 10
    with pytest.raises(FileRefused) as refused:
        read(project, "file", 9)
    assert refused.value.code == "too_large"
    assert read_start(project, "file", 9) == b"x" * 9
    assert read_plain(str(project / "file"), 9) is None


def test_usual_settings_are_read() -> None:
    lines = "\n".join(f'k{number} = "{"1.2.3 " * 20}"' for number in range(100))
    assert len(parse_toml(lines.encode())) == 100


STUCK = """
import asyncio, os, sys
from agent_core.cli.interrupts import Cancelled

async def main():
    with Cancelled(stuck_s=0.2) as cancelled:
        print("ready", flush=True)
        try:
            HOW
        except asyncio.CancelledError:
            print("cancelled", cancelled.by_signal, flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("await asyncio.sleep(600)", 0, b"cancelled True\n"),
        ("open(sys.argv[1])", 130, b""),
        ("os.read(0, 1)", 130, b""),
    ],
)
async def test_a_signal_is_heard_also_while_a_call_waits(
    tmp_path: Path, number: signal.Signals, how: str, code: int, said: bytes
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", STUCK.replace("HOW", how), str(pipe),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(MOST_S):
            assert await process.stdout.readline() == b"ready\n"
            process.send_signal(number)
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, out) == (code, said)
