"""The table of guarantees, tried: one row of attacks per cell, in each sandbox, as root and as another user."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agent_core.tools.sandbox.guarantees import CELLS, Cell, missing
from tests.support.suite.parts import lacking, program
from tests.support.tools.confined import NOBODY, ROOT, python_for, run_confined

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="these sandboxes are Linux's")

PROGRAMS = {
    "daemon.py": """
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.closerange(0, 1024)
os.execve(sys.executable, [sys.executable, *sys.argv[1:]], {})
""",
    "wait.py": "import time; time.sleep(60)",
    "answer.py": "import glob, sys\nfound = [open(f).read() for f in glob.glob(sys.argv[1] + '/*')]\n"
    "open(sys.argv[2], 'w').write(str(found) + 'in @' * bool(found))",
    "memory.py": "import os, sys\nf = os.memfd_create('x', 0)\n"
    "os.write(f, f'#!/bin/sh\\necho x > {sys.argv[1]}; touch -d 2001-01-01 {sys.argv[1]}\\n'.encode())\n"
    "os.execve(f'/proc/self/fd/{f}', ['x'], dict(os.environ))",
    "inherited.py": "import os, sys\nfor f in range(256):\n for p in ('..' + '/..' * 9 + sys.argv[1], '../outside'):\n"
    "  try: os.write(os.open(p, os.O_WRONLY, dir_fd=f), b'broken')\n  except OSError: pass",
    "ring.py": "import ctypes\nb = ctypes.create_string_buffer(120)\n"
    "print('broken' * (ctypes.CDLL(None).syscall(425, 8, b) >= 0))",
    "trace.py": "import ctypes, os, sys\nlibc = ctypes.CDLL(None)\n"
    "for p in filter(str.isdecimal, os.listdir('/proc')):\n"
    " try: line = open(f'/proc/{p}/cmdline').read()\n except OSError: continue\n"
    " if ''.join(sys.argv[1:]) in line:\n"
    "  print('met')\n  if libc.ptrace(16, int(p), 0, 0) == 0: print('broken')\n"
    "  try: os.pread(os.open(f'/proc/{p}/mem', os.O_RDWR), 1, 0x400000); print('broken')\n  except OSError: pass",
}
"""Attacks that take a program. `daemon.py` starts another that cuts all ties to the command that it is of: parent,
session, files, environment."""
MARK = f"loopline-outlives-{os.getpid()}"
SOCKETS = "import socket; s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect({!r}); print('in')"
ATTACKS: dict[Cell, dict[str, str]] = {
    "files": {
        "write": "echo x > {top}/outside && echo broken",
        "mode": "chmod 777 {top}/outside && echo broken",
        "times": "touch -d 2001-01-01 {top}/outside && echo broken",
        "remount": "mount -o remount,rw / && echo x > {top}/outside && echo broken",
        "memory": "python3 memory.py {top}/outside",
        "inherited": "python3 inherited.py {top}/outside",
        "root": "echo x > /proc/$HOST/root{top}/outside; echo x > /proc/$HOST/cwd/{top}/outside; exit 0",
        "namespace": "unshare -rm sh -c 'mount -o remount,rw,bind {top} && echo x > {top}/outside' && echo broken",
    },
    "guarded": {
        "make": "mkdir -p .vscode && echo x > .vscode/tasks.json; exit 0",
        "change": "echo broken >> .envrc; cat .envrc",
    },
    "secrets": {
        "workspace": "cat .env",
        "home": "cat {top}/home/.ssh/id_ed25519",
        "keyring": "python3 -c \"import ctypes; c = ctypes.CDLL(None); print('broken' * (c.syscall(250 if "
        "__import__('platform').machine() == 'x86_64' else 219, 0, -3, 0) >= 0))\"",
    },
    "environment": {
        "parent": "tr '\\0' '\\n' < /proc/$PPID/environ",
        "host": "tr '\\0' '\\n' < /proc/$HOST/environ",
        "all": "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'",
        "memory": "head -c 1 /proc/$HOST/mem; head -c 100 /proc/$HOST/maps && echo broken",
    },
    "capabilities": {
        "held": "grep -E 'Cap(Eff|Prm|Bnd|Amb|Inh)|NoNewPrivs' /proc/self/status",
        "log": "dmesg > /dev/null 2>&1 && echo broken",
        "time": "date -s 2001-01-01 && echo broken",
        "chroot": "chroot / true && echo broken",
    },
    "devices": {
        "make": "mknod node b 254 0 && head -c 1 node && echo broken; mknod null c 1 3 && echo x > null && echo broken",
        "disk": "for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/mem /dev/kmsg; do head -c 1 $d && echo broken; done",
        "usual": "echo x > /dev/null && head -c 1 /dev/zero | cmp -n 1 - /dev/zero && echo good",
    },
    "terminal": {
        "tty": "echo broken > /dev/tty; exec 3<>/dev/tty && echo broken",
        "pts": "for t in /dev/pts/[0-9]*; do echo broken > $t && echo broken; done",
        "push": "python3 -c \"import fcntl, glob, os\nfor p in ['/dev/tty', *glob.glob('/dev/pts/[0-9]*')]:\n try:\n"
        "  fcntl.ioctl(os.open(p, os.O_RDONLY), 0x5412, b'x'); print('broken')\n except OSError: pass\"",
        "inherited": "for f in /proc/self/fd/*; do readlink $f; done",
    },
    "network": {
        "tcp": "exec 3<>/dev/tcp/127.0.0.1/{port} && echo broken",
        "udp": "exec 3<>/dev/udp/127.0.0.1/{port} && echo hello >&3",
        "machine": "python3 -c \"import socket; socket.socket(40, 1); print('broken')\"",
        "ring": "python3 ring.py",
        "raw": "python3 -c \"import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('ok')\" ; exit 0",
    },
    "sockets": {
        "path": f"python3 -c \"{SOCKETS.format('{top}/run/socket')}\"",
        "abstract": f"python3 -c \"{SOCKETS.format('{abstract}')}\"",
        "answers": "python3 daemon.py answer.py {top}/state/loopline/run out/sockets-daemon; "
        "for i in $(seq 50); do [ -e out/sockets-daemon ] || sleep 0.1; done",
        "key": "cat {top}/state/loopline/run/*",
        "found": "python3 -c \"import socket\nfor l in open('/proc/net/unix'):\n p = l.split()[-1]\n try:\n"
        "  s = socket.socket(socket.AF_UNIX); s.settimeout(1); s.connect(p.replace('@', chr(0))); print('in', p)\n"
        " except OSError: pass\"",
    },
    "processes": {
        "daemon": f"python3 daemon.py wait.py {MARK}",
        "signal": "kill -0 $HOST && echo broken",
        "seen": "test -e /proc/$HOST/stat && echo broken; true",
        "trace": "python3 -c \"import ctypes; print('broken' * (ctypes.CDLL(None).ptrace(16, $HOST, 0, 0) == 0))\"",
    },
}  # fmt: skip
COLUMNS = [
    (kind, namespaces, user)
    for kind, namespaces in (("bubblewrap", True), ("landlock", True), ("landlock", False))
    for user in (("root", "nobody") if os.geteuid() == 0 else ("nobody",))
]
IDS = ["-".join((kind, "namespaces" if namespaces else "alone", user)) for kind, namespaces, user in COLUMNS]
SIGNS = ("broken\n", "HOST-KEY", "TOKEN-KEY", "HOME-KEY")
Column = tuple[str, bool, str, dict[str, str]]


@pytest.fixture(params=COLUMNS, ids=IDS, scope="module")
def column(request: pytest.FixtureRequest) -> Iterator[Column]:
    """Which sandbox as which user, and what each attack printed: one command tries them all."""
    kind, namespaces, user = request.param
    here = os.geteuid()
    uid = here if here or user == "root" else NOBODY
    if kind == "bubblewrap":
        program("bwrap")
    if python_for(uid) is None:
        lacking("other user")
    top = Path(tempfile.mkdtemp(prefix="guarantees-", dir="/var/tmp"))
    try:
        yield kind, namespaces, user, attacked(top, kind, namespaces, uid)
    finally:
        shutil.rmtree(top)


def attacked(top: Path, kind: str, namespaces: bool, uid: int) -> dict[str, str]:
    """What the attacks printed, and what was seen of them outside."""
    made = {"outside": "outside", "home/.ssh/id_ed25519": "HOME-KEY", "root/.env": "TOKEN-KEY", "root/.envrc": "fine"}
    made |= {f"root/{name}": text for name, text in PROGRAMS.items()} | {"state/loopline/run/s.key": "HOME-KEY"}
    for name, text in {**made, "run/x": "", "state/x": "", "config/x": "", "root/out/x": ""}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    abstract = f"loopline-{os.getpid()}-{uid}"
    with contextlib.ExitStack() as stack:
        kinds = (socket.AF_UNIX, socket.SOCK_STREAM), (socket.AF_UNIX, socket.SOCK_STREAM), (2, 1), (2, 2)
        by_path, by_name, tcp, udp = (stack.enter_context(socket.socket(*each)) for each in kinds)
        by_path.bind(str(top / "run/socket"))
        by_name.bind(f"\0{abstract}")
        tcp.bind(("127.0.0.1", 0))
        udp.bind(tcp.getsockname())
        udp.setblocking(False)
        for listening in (by_path, by_name, tcp):
            listening.listen(64)
        for path in (top, *top.rglob("*")):
            os.chown(path, uid, uid)
        places = {"{top}": str(top), "{port}": str(tcp.getsockname()[1]), "{abstract}": f"\\0{abstract}"}
        lines = []
        for cell, attacks in ATTACKS.items():
            for name, script in attacks.items():
                for place, value in places.items():
                    script = script.replace(place, value)
                lines.append(f"(\n{script}\n) > out/{cell}-{name} 2>&1")
        told = run_confined(top, kind, "\n".join(lines), uid=uid, namespaces=namespaces, secret="HOST-KEY")
        results = {path.name: path.read_text(errors="replace") for path in (top / "root/out").iterdir()}
        with suppress(BlockingIOError):
            results["network-received"] = f"broken\n{udp.recv(100)!r}"
    results["processes-outlives"] = "".join("broken\n" for _ in ended_now(MARK))
    now = (top / "outside").stat()
    changed = now.st_mode & 0o777 == 0o777 or now.st_mtime < 1.1e9 or now.st_size != len("outside")
    results["files-now"] = "broken\n" if changed else ""
    results["guarded-now"] = "broken\n" if (top / "root/.vscode").exists() else ""
    assert len(results) == sum(map(len, ATTACKS.values())) + 5 + ("network-received" in results), told
    return results


def ended_now(mark: str) -> Iterator[int]:
    """The processes that have this word on their command line, each of which is ended."""
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdecimal() and mark.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
                yield int(folder.name)


def broken(cell: Cell, results: dict[str, str], user: str) -> list[str]:
    """Which attacks on a cell got through. What a command does to files outside is seen outside: in the sandbox another
    folder may stand in that place."""
    names = [name for name in results if name.startswith(f"{cell}-") and (cell != "files" or name == "files-now")]
    signs = (*SIGNS, "in\n", "in /", "in @") if cell == "sockets" else SIGNS
    found = [f"{name}: {results[name]}" for name in names if any(sign in results[name] for sign in signs)]
    if cell == "terminal" and "/dev/" in results["terminal-inherited"].replace("/dev/null", ""):
        found.append(results["terminal-inherited"])
    if cell == "capabilities":
        held = dict(line.split(":\t") for line in results["capabilities-held"].splitlines())
        most = 0b11111011 if user == "root" else 0
        # The bounding set says what a program could gain, and with NoNewPrivs none gains anything.
        names = ["CapEff", "CapPrm", "CapInh", "CapAmb"]
        found += [f"{name} {held[name]}" for name in names if int(held[name], 16) & ~most]
        found += [] if held["NoNewPrivs"] == "1" else ["new privileges"]
    return found


@pytest.mark.parametrize("cell", list(CELLS))
def test_each_cell_holds_or_is_told_not_to(column: Column, cell: Cell) -> None:
    kind, namespaces, user, results = column
    found = broken(cell, results, user)
    if cell in missing(kind, namespaces=namespaces):
        assert found, "it holds: the table is to be told anew"
    else:
        assert not found
    if cell == "devices":
        assert "good" in results["devices-usual"]


@pytest.mark.parametrize(("kind", "namespaces"), [("bubblewrap", True), ("landlock", True), ("landlock", False)])
def test_a_terminal_that_is_ours_is_not_the_commands(tmp_path: Path, kind: str, namespaces: bool) -> None:
    """As in a real terminal: the process that runs commands has one, and they have none, nor a way to it."""
    import pty

    if kind == "bubblewrap":
        program("bwrap")
    (tmp_path / "root").mkdir()
    script = "; ".join(f"(\n{each}\n)" for each in ATTACKS["terminal"].values())
    code = (
        f"import os, sys; sys.path.insert(0, {str(ROOT)!r}); from pathlib import Path\n"
        "from tests.support.tools.confined import run_confined\nassert os.open('/dev/tty', os.O_RDWR)\n"
        f"print(run_confined(Path({str(tmp_path)!r}), {kind!r}, {script!r}, uid=os.geteuid(), namespaces={namespaces}))"
    )
    main, side = pty.openpty()
    argv = ["setsid", "-c", sys.executable, "-c", code]
    done = subprocess.run(argv, stdin=side, capture_output=True, text=True, timeout=100)
    os.close(side)
    os.set_blocking(main, False)
    with suppress(BlockingIOError, OSError):
        assert not os.read(main, 1_000)
    os.close(main)
    assert done.returncode == 0, done.stderr
    assert "exit code: " in done.stdout and "broken" not in done.stdout


@pytest.mark.parametrize(("kind", "namespaces"), [("bubblewrap", True), ("landlock", True), ("landlock", False)])
def test_commands_of_one_session_are_closed_to_each_other(tmp_path: Path, kind: str, namespaces: bool) -> None:
    """A sibling is traced and its memory written, which would make it do what the tracer may not."""
    if kind == "bubblewrap":
        program("bwrap")
    for name, text in PROGRAMS.items():
        (tmp_path / "root" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "root" / name).write_text(text)
    word = f"{MARK}-sibling"
    sibling = f"echo x > up; exec python3 wait.py {word}"
    attack = f"python3 trace.py {MARK} -sibling"
    told = run_confined(tmp_path, kind, attack, uid=os.geteuid(), namespaces=namespaces, beside=sibling)
    assert "exit code: 0" in told and "broken" not in told
    assert ("met" in told) is not namespaces, "with namespaces it is not even seen"
    assert not list(ended_now(word))


def test_the_table_of_none_is_empty() -> None:
    assert missing("none", namespaces=False) == tuple(CELLS)
    assert missing("bubblewrap", namespaces=True) == ()
