"""What a sandbox denies, one by one, by real commands: with bubblewrap, and with Landlock where that is hidden."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent_core.tools.sandbox.sandbox import DESCRIPTIONS, Found, Sandbox, find_sandbox
from agent_core.tools.workspace.workspace import Workspace
from tests.support.suite.parts import lacking
from tests.support.system.waiting import lines_of_file
from tests.support.tools.toolbox import BIN, Bench

NOWHERE = {**BIN, "PATH": "/nonexistent"}
FOUND = {found.kind: found for found in (find_sandbox(BIN), find_sandbox(NOWHERE))}


@pytest.fixture(params=["bubblewrap", "landlock"])
def found(request: pytest.FixtureRequest) -> Found:
    if request.param not in FOUND:
        lacking("bwrap" if request.param == "bubblewrap" else request.param)
    return FOUND[request.param]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in ((".ssh/id_ed25519", "ssh-key"), (".aws/credentials", "aws-key"), (".netrc", "netrc-key")):
        file = tmp_path / "home" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "home" / "notes").write_text("plain")
    return tmp_path / "home"


@pytest.fixture
async def bench(found: Found, home: Path, tmp_path: Path) -> AsyncIterator[Bench]:
    roots = tmp_path / "root", tmp_path / "second"
    for root in roots:
        root.mkdir()
    (tmp_path / "outside").mkdir()
    bench = Bench(*roots, environment={**BIN, "HOME": str(home)}, sandbox=found)
    yield bench
    await bench.box.close()


async def run(bench: Bench, command: str) -> tuple[str, int]:
    result = await bench.run("shell", command=command, timeout_s=60)
    return result.output, result.data["exit_code"]


def test_bubblewrap_is_preferred_and_landlock_is_next() -> None:
    if "bubblewrap" in FOUND:
        assert find_sandbox(BIN).kind == "bubblewrap"
    assert find_sandbox(NOWHERE).kind in ("landlock", "none")
    assert set(DESCRIPTIONS) >= set(FOUND)


async def test_the_workspace_can_be_worked_in(bench: Bench, tmp_path: Path) -> None:
    script = (
        f"echo one > a && mkdir d && mv a d/b && chmod 755 d/b && ln -s b d/c && cat d/c && "
        f"echo two > {tmp_path}/second/e"
        ' && mktemp && echo three > "$TMPDIR/x" && cat "$TMPDIR/x" && echo gone > /dev/null && cat /etc/passwd'
    )
    output, code = await run(bench, script)
    assert code == 0, output
    assert "one\n" in output and "three\n" in output and "root:" in output
    assert (bench.root / "d/b").read_text() == "one\n" and (tmp_path / "second/e").read_text() == "two\n"


@pytest.mark.parametrize(
    "command",
    [
        "echo x > {outside}/made",
        "echo x >> {outside}/there",
        "rm {outside}/there",
        "mv {outside}/there .",
        "truncate -s 0 {outside}/there",
        "mkdir {outside}/folder",
        "ln -s {outside} link && echo x > link/made",
        "ln {outside}/there hard && echo x > hard",
        "sh -c 'sh -c \"echo x > {outside}/made\"'",
        "python3 -c 'import os; os.open(\"{outside}/made\", os.O_CREAT | os.O_WRONLY)'",
        "(setsid sh -c 'echo x > {outside}/made; echo x > done' &) ; while [ ! -e done ]; do sleep 0.01; done; false",
        "cd {outside} && echo x > made",
        "mount -o remount,rw / && echo x > {outside}/made",
        "mount -t tmpfs none {outside} && false",
        "unshare -r sh -c 'mount -o remount,rw / ; echo x > {outside}/made'",
        "echo x > {home}/.bashrc",
        "echo x > /etc/loopline-was-here",
        "mknod {root}/disk b 8 0 && false",
    ],
)
async def test_nothing_outside_can_be_written(bench: Bench, home: Path, tmp_path: Path, command: str) -> None:
    outside = tmp_path / "outside"
    (outside / "there").write_text("there")
    output, code = await run(bench, command.format(outside=outside, home=home, root=bench.root))
    assert code != 0, output
    assert [(entry.name, entry.read_text()) for entry in outside.iterdir()] == [("there", "there")]
    assert not (home / ".bashrc").exists() and not Path("/etc/loopline-was-here").exists()


@pytest.mark.parametrize("name", [".ssh/id_ed25519", ".aws/credentials", ".netrc"])
@pytest.mark.parametrize(
    "way",
    [
        "cat {file}",
        "ln -s {file} link; cat link",
        "sh -c 'cat {file}'",
        "cp {file} copy; cat copy",
        "ln -s $(dirname {file}) folder; cat folder/$(basename {file})",
        "(setsid sh -c 'cat {file} > copy; echo x > done' &) ; while [ ! -e done ]; do sleep 0.01; done; cat copy",
        "python3 -c 'print(open(\"{file}\").read())'",
        "tar cf - {file} | tar xOf -",
    ],
)
async def test_secrets_of_the_user_are_not_seen(bench: Bench, home: Path, name: str, way: str) -> None:
    secret = (home / name).read_text()
    output, code = await run(bench, way.format(file=home / name))
    assert secret not in output
    assert not (bench.root / "copy").exists() or (bench.root / "copy").read_text() == ""
    plain, code = await run(bench, f"cat {home}/notes")
    assert (plain.split("\n")[0], code) == ("plain", 0)


async def test_a_secret_that_the_user_opened_is_seen(found: Found, home: Path, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    environment = {**BIN, "HOME": str(home)}
    bench = Bench(tmp_path / "root", environment=environment, sandbox=found, visible=("~/.ssh", str(home / ".netrc")))
    if found.kind == "bubblewrap":
        bench = Bench(tmp_path / "root", environment=environment, sandbox=found, visible=(".ssh", ".netrc"))
    output, _ = await run(bench, f"cat {home}/.netrc; cat {home}/.aws/credentials")
    await bench.box.close()
    assert "netrc-key" in output and "aws-key" not in output


async def test_secrets_in_the_workspace_are_not_seen(bench: Bench) -> None:
    bench.write(".env", "TOKEN=1")
    bench.write("deep/er/.env.local", "TOKEN=2")
    bench.write(".env.example", "TOKEN=\n")
    output, _ = await run(bench, "cat .env deep/er/.env.local .env.example; sh -c 'cat < .env'")
    assert "TOKEN=1" not in output and "TOKEN=2" not in output and "TOKEN=\n" in output
    assert bench.bytes(".env") == b"TOKEN=1"


async def test_commands_see_their_own_processes_only(bench: Bench) -> None:
    output, _ = await run(bench, "ls /proc | grep -c '^[0-9]'; cat /proc/1/cmdline")
    assert int(output.split("\n")[0]) < 10, output


@pytest.mark.parametrize(
    "way",
    [
        "{connect}",
        'sh -c "{connect}"',
        '(setsid sh -c "{connect} ; echo \\$? > code" &) ; while [ ! -s code ]; do sleep 0.01; done; exit $(cat code)',
    ],
)
async def test_the_network_is_closed(bench: Bench, way: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        output, code = await run(bench, way.format(connect=f"bash -c '{connect}'"))
        assert code != 0, output
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()


async def test_the_network_is_open_where_the_user_allows_it(found: Found, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    bench = Bench(tmp_path / "root", sandbox=found, network=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        output, code = await run(bench, f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}'")
    await bench.box.close()
    assert code == 0, output


async def test_tests_may_talk_to_themselves(bench: Bench) -> None:
    script = (
        "import socket; s = socket.create_server(('127.0.0.1', 0));"
        "c = socket.create_connection(s.getsockname(), 5); s.accept()[0].send(b'ok'); print(c.recv(2))"
    )
    output, code = await run(bench, f'python3 -c "{script}"')
    assert code == 0 and "b'ok'" in output, output


async def test_checks_report_what_confined_tests_found(bench: Bench) -> None:
    bench.write("test_two.py", "def test_good():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n")
    result = await bench.run("checks")
    assert (result.data["status"], result.data["failed"], result.data["passed"]) == ("failed", 1, 1), result.output
    assert [failure["id"] for failure in result.data["failures"]] == ["test_two.py::test_bad"]
    assert {entry.name for entry in bench.root.iterdir()} == {"test_two.py"}


async def test_a_report_that_is_a_link_is_not_followed(bench: Bench, home: Path) -> None:
    """A test can't have us read, outside of the sandbox, what it may not see."""
    (home / ".ssh/id_ed25519").write_text(
        '<testsuites><testsuite><testcase name="x" file="t.py"><failure message="stolen"/></testcase></testsuite>'
        "</testsuites>"
    )
    bench.write(
        "test_steal.py",
        "import atexit, glob, os\n"
        "def steal():\n"
        "    for path in glob.glob(os.environ['TMPDIR'] + '/loopline-*/junit.xml'):\n"
        "        os.unlink(path)\n"
        f"        os.symlink('{home}/.ssh/id_ed25519', path)\n"
        "        print('replaced', flush=True)\n"
        "atexit.register(steal)\n"
        "def test_one():\n    pass\n",
    )
    result = await bench.run("checks")
    assert "replaced" in result.output
    assert (result.data["status"], result.data["failures"]) == ("error", [])


async def test_agents_and_buses_are_out_of_reach(found: Found, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    environment = {**BIN, "SSH_AUTH_SOCK": "/tmp/agent", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/0/bus"}
    bench = Bench(tmp_path / "root", environment=environment, sandbox=found)
    output, _ = await run(bench, "env")
    await bench.box.close()
    assert "SSH_AUTH_SOCK" not in output and "DBUS" not in output


async def test_nothing_survives_and_the_exit_code_comes_through(bench: Bench) -> None:
    output, code = await run(bench, "sleep 987 & sleep 986 & exit 7")
    assert code == 7
    assert "bwrap" not in output and "sleep 987" in output
    assert not _running("sleep 987") and not _running("sleep 986")
    _, code = await run(bench, "kill -9 $$")
    assert code == 137


async def test_a_cancelled_command_is_gone_with_all_its_processes(bench: Bench) -> None:
    task = asyncio.ensure_future(bench.run("shell", command="setsid sleep 985 & echo x > started; sleep 984"))
    await lines_of_file(bench.root / "started")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _running("sleep 985") and not _running("sleep 984")


async def test_the_scratch_folder_goes_with_the_session(found: Found, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    workspace = Workspace([tmp_path / "root"])
    sandbox = Sandbox(found, workspace, BIN)
    folder = Path(sandbox._folder())
    (folder / "left").write_text("x")
    await sandbox.close()
    assert not folder.exists()


async def test_without_a_sandbox_commands_run_as_ever(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    bench = Bench(tmp_path / "root", sandbox=Found("none"))
    _, code = await run(bench, f"echo x > {tmp_path}/outside")
    await bench.box.close()
    assert code == 0 and (tmp_path / "outside").read_text() == "x\n"


def _running(command: str) -> bool:
    wanted = command.encode().replace(b" ", b"\0")
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if line.startswith(wanted):
                return True
    return False
