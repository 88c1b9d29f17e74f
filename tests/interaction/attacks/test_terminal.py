"""What others say reaches a terminal as text: every field of every event, record and error, in every front end."""

from __future__ import annotations

import asyncio
import csv
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from agent_core.cli.approver import TerminalApprover
from agent_core.cli.console import CleanConsole
from agent_core.cli.jsonl import JsonLines
from agent_core.cli.terminal import Terminal
from agent_core.telemetry.export.files import safe_cell
from agent_core.telemetry.screen import CleanStream
from agent_core.turns.approval import Approval
from agent_core.turns.events import AnyTurnEvent
from tests.support.system.hostile_text import HOSTILE, filled, trouble

UPDATES = get_args(AnyTurnEvent)


class Screen:
    """What a console would write to a terminal, as bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> None:
        self._bytes = io.BytesIO()
        self._file = (
            _Tty(self._bytes, encoding="utf-8") if terminal else io.TextIOWrapper(self._bytes, encoding="utf-8")
        )
        monkeypatch.setattr(sys, "stdout", CleanStream(self._file))
        for name, value in {"COLUMNS": "100", "TERM": "xterm-256color"}.items():
            monkeypatch.setenv(name, value)
        self.console = CleanConsole()
        assert self.console.is_terminal == terminal

    def bytes(self) -> bytes:
        sys.stdout.flush()
        self._file.flush()
        return self._bytes.getvalue()


class _Tty(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("terminal", [False, True])
def test_every_field_of_every_event_in_the_terminal(name: str, terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch, terminal=terminal)
    front = Terminal(screen.console)
    for kind in UPDATES:
        front(filled(kind, HOSTILE[name]))
    front.close()
    written = screen.bytes()
    assert len(written) > 200 and not trouble(written, draws=terminal)
    if name == "markup" and not terminal:
        assert b"[bold red]a[/] [link=http://evil]b[/link] [/nothing] :skull:" in written


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "surrogate"])
def test_every_field_of_every_event_as_json_means_the_same_and_is_escaped(name: str) -> None:
    for kind in UPDATES:
        out = io.BytesIO()
        update = filled(kind, HOSTILE[name])
        JsonLines(out)(update)
        assert msgspec.json.decode(out.getvalue()) == msgspec.json.decode(msgspec.json.encode(update))
        assert not trouble(out.getvalue())


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_question_shows_the_whole_command_and_every_character_of_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen(monkeypatch, terminal=True)
    reader, writer = os.pipe()
    with os.fdopen(reader) as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        asking = asyncio.ensure_future(TerminalApprover(screen.console)(filled(Approval, HOSTILE[name])))
        os.write(writer, b"n\n")
        assert await asking == "deny"
        os.close(writer)
    written = screen.bytes()
    assert not trouble(written, draws=True)
    shown = {
        "long": b"x" * 20_000,
        "overwrite": rb"\rdangerous",
        "bidi": rb"\u202eb\u202d\u2066c",
        "invisible": rb"a\u200bb\u2060\ufeff\xad\U000e0041",
        "colour": rb"\x1b[66mb",
        "surrogate": rb"\udcffb\ud800",
        "markup": b"[bold red]a[/]",
    }
    assert shown.get(name, b"") in written.replace(b"\n", b"")


@pytest.mark.parametrize("name", HOSTILE)
def test_cells_of_csv_hold_text_and_no_formula(name: str) -> None:
    heads = ("", "=", "+", "-", "@", "\t=", "\x1b[1m=", "\u200b@", " =", "\r+")
    cells = [safe_cell(f"{head}{HOSTILE[name]}") for head in heads]
    out = io.StringIO()
    csv.writer(out).writerow(cells)
    assert not trouble(out.getvalue().encode("utf-8", "backslashreplace"))
    assert all(cell.startswith("'") for cell in cells[1:])


PROGRAM = """
import sys, logging, warnings, threading
from agent_core.telemetry.screen import guard_streams, put, say
guard_streams()
text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
say(text), put(text), print(text), print(text, file=sys.stderr)
warnings.warn(text)
logging.getLogger("x").error(text)
logging.getLogger("x").error("%s", "a", exc_info=ValueError(text))
thread = threading.Thread(target=lambda: 1 / 0, name=text)
thread.start(), thread.join()
raise RuntimeError(text)
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_tracebacks_warnings_and_logs_pass_the_same_exit(name: str) -> None:
    given = HOSTILE[name].encode("utf-8", "surrogatepass")
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=given, capture_output=True, timeout=60, check=False)
    assert b"RuntimeError" in done.stderr and not trouble(done.stdout + done.stderr)


@pytest.mark.parametrize("kind", ["text", "no text"])
def test_what_commands_say_of_names_that_are_hostile(kind: str, tmp_path: Path) -> None:
    """Names of models, folders, settings, servers and sessions, as arguments, environment and files can hold them."""
    given = "".join(HOSTILE[name] for name in ("title", "c1", "overwrite", "bidi", "reset"))
    text = given.encode() if kind == "text" else b"a\xffb\xed\xa0\x80\rc"
    place = tmp_path / ("w" + os.fsdecode(text).replace("/", "_"))
    place.mkdir()
    folder = os.fsencode(place)
    config = tmp_path / "config" / "loopline"
    config.mkdir(parents=True)
    escaped = "".join(f"\\U{ord(char):08x}" for char in text.decode("utf-8", "replace"))
    (config / "config.toml").write_text(f'[mcp.a]\ncommand = "{escaped}"\nargs = ["{escaped}"]\napprove = "never"\n')
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": str(tmp_path),
                   "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(tmp_path / "run")}  # fmt: skip
    commands = (
        [b"doctor"],
        [b"config", b"-w", folder],
        [b"trust", folder],
        [b"sessions", b"show", text],
        [b"auth", b"status", text],
        [b"export", b"--format", text],
        [b"run", b"-w", folder + b"x", b"hi"],
        [b"web", b"token", b"add", text, b"--team", text],
    )
    running = [
        subprocess.Popen([os.fsencode(sys.executable), b"-m", b"agent_core", *arguments], env=environment,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for arguments in commands
    ]  # fmt: skip
    for arguments, process in zip(commands, running, strict=True):
        out, err = process.communicate(timeout=100)
        assert not trouble(out + err), arguments
        assert b"Traceback" not in err, (arguments, err[-800:])


def test_doctor_keeps_what_stands_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(monkeypatch, terminal=False)
    screen.console.print("pip install 'loopline[search]'", style="dim", soft_wrap=True)
    assert b"loopline[search]" in screen.bytes()
