"""The interactive session as a person has it: a real process on a real terminal, real keys, a model that is played."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.serving import KEY, serving
from tests.support.system.cli import environment, loopline
from tests.support.terminal.conversation import (
    ALT_ENTER,
    CTRL_C,
    CTRL_D,
    CTRL_G,
    ENTER,
    ESC,
    F2,
    FOCUS_LOST,
    AgentTerminal,
)

WORDS = "日本語 🙂 naïve ﷽ word"
LONG = "\n\n".join(f"Paragraph {number} of the long answer. {WORDS}" for number in range(300))
CALL = {"name": "shell", "arguments": {"command": "echo made > made.txt && cat made.txt"}}
EDIT = {"name": "edit", "arguments": {"path": "a.py", "old": "one", "new": "two"}}


def steps() -> list[dict[str, Any]]:
    """A conversation: edit and command, then the answer; a long answer at 200 words/s; short ones."""
    return [
        {"output": [{"text": "I **change** it. \x1b[31mred\x1b]0;title\x07"}, {"function_call": EDIT}]},
        {"output": [{"function_call": CALL}]},
        {"output": [{"text": f"Changed, {WORDS}."}]},
        {"output": [{"text": LONG}], "tokens_per_s": 200},
        {"output": [{"text": "An answer after that."}]},
    ]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "rollout.json").write_text(json.dumps({"steps": steps()}))
    try:
        with serving(folder, environment(folder), "--rollout", str(folder / "rollout.json")) as served:
            yield f"{served.url}/v1"
    except AssertionError as error:
        if "never played" not in str(error):  # so it is when one story runs by itself
            raise


@pytest.fixture
def opened(tmp_path: Path, service: str) -> Iterator[Callable[..., AgentTerminal]]:
    folder, terminals = tmp_path / "project", list[AgentTerminal]()
    folder.mkdir()
    (folder / "a.py").write_text("x = 'one'\n")

    def start(*arguments: str, **options: Any) -> AgentTerminal:
        asked = ("--base-url", service, "--model", "scripted") if "-c" not in arguments else ()
        extra = {"OPENAI_API_KEY": KEY}
        terminal = AgentTerminal(tmp_path / "home", folder, *asked, *arguments, extra=extra, **options)
        terminals.append(terminal)
        return terminal

    yield start
    for terminal in terminals:
        terminal.close()


def first_turn(terminal: AgentTerminal) -> None:
    """Up to its end: the command is allowed."""
    terminal.until("Loopline wants to run shell")
    terminal.until("Enter takes the marked one")  # the keyboard is the question's
    terminal.press("y")
    terminal.until("✓ done")


def test_asked_approved_edited_undone_resumed(opened: Callable[..., AgentTerminal], tmp_path: Path) -> None:
    terminal, file = opened("please do it"), tmp_path / "project" / "a.py"
    first_turn(terminal)
    page = terminal.text
    assert "› please do it" in page and "+x = 'two'" in page and WORDS.split()[0] in page
    assert file.read_text() == "x = 'two'\n" and (tmp_path / "project" / "made.txt").read_text() == "made\n"
    assert b"\x1b]0;title" not in terminal.written, "nothing of the model reaches the terminal raw"
    terminal.press("/undo", ENTER)
    terminal.until("taken back")
    assert file.read_text() == "x = 'one'\n"
    terminal.press("/redo", ENTER)
    terminal.until("put back")
    assert file.read_text() == "x = 'two'\n"
    terminal.press(CTRL_D)
    assert terminal.end() == 0 and terminal.is_given_back

    again = opened("-c").ready()
    again.until("please do it")
    again.until(lambda text: "✓ done" in text and "scripted" in text.split("\n")[-1])
    again.press(CTRL_D)
    assert again.end() == 0


def test_keys_before_the_question_never_answer_it(opened: Callable[..., AgentTerminal], tmp_path: Path) -> None:
    terminal = opened().ready()
    terminal.press("please", ENTER, "y", "y", "a", "y")
    terminal.until("Loopline wants to run shell")
    assert not (tmp_path / "project" / "made.txt").exists()
    terminal.until(lambda text: "yyay" in text.split("wants to run")[-1])
    terminal.press(CTRL_C)
    terminal.until("Enter takes the marked one")
    terminal.press("n")
    terminal.until("denied")
    terminal.until("✓ done")
    assert not (tmp_path / "project" / "made.txt").exists()


def test_escape_stops_a_stream_and_what_waits_comes_next(opened: Callable[..., AgentTerminal]) -> None:
    terminal = opened("please do it")
    first_turn(terminal)
    terminal.press("tell me a lot", ENTER)
    terminal.until("Paragraph 3 of")
    terminal.press("and this after it", ALT_ENTER)
    terminal.until("waits")
    terminal.resize(60, 20)
    terminal.until("Paragraph 6 of")
    assert max(len(line) for line in terminal.lines) <= 60
    terminal.resize(110, 34)
    terminal.until("Paragraph 9 of")
    terminal.press(ESC)
    terminal.until("stopped; what was done is kept")
    terminal.until("An answer after that.")
    assert "› and this after it" in terminal.text
    terminal.press(CTRL_C, CTRL_C)
    assert terminal.end() == 0 and terminal.is_given_back


def test_a_second_terminal_sees_every_word_and_takes_over(opened: Callable[..., AgentTerminal]) -> None:
    first = opened("please do it")
    first_turn(first)
    second = opened("-c").ready()
    second.until("attached")
    assert "please do it" in second.text
    first.press("tell me a lot", ENTER)
    second.until("Paragraph 4 of")
    assert "› tell me a lot" in second.text
    second.press(F2)
    second.until("1 Waterfall")
    second.press(F2)
    first.kill()
    second.until("taken over")
    second.press("go on", ENTER)
    second.until(lambda text: "works" in text.split("\n")[-1])
    second.press(ESC)
    second.until("stopped; what was done is kept")
    assert "attached" not in second.text.split("\n")[-1]
    second.press(CTRL_D)
    assert second.end() == 0 and second.is_given_back


def test_rung_for_chosen_from_a_list_and_edited_elsewhere(
    opened: Callable[..., AgentTerminal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\necho 'and these words' >> \"$1\"\n")
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    first = opened().ready()
    first.press(FOCUS_LOST, "please do it", ENTER)
    first_turn(first)
    assert b"\x1b]9;Loopline asks you something\x07" in first.written
    first.press(CTRL_D)
    assert first.end() == 0

    again = opened("-r")
    again.until("Go on with a session")
    again.until("please do it")
    again.press("do it")
    again.until(lambda text: "1 turn" in text)
    again.press(ENTER)
    again.until(lambda text: "✓ done" in text and "Go on with" not in text)
    again.press(CTRL_G)
    again.until("› and these words")
    assert b"]9;" not in again.written
    again.press(CTRL_C, CTRL_D)
    assert again.end() == 0 and again.is_given_back


def test_plain_lines_for_a_screen_reader(opened: Callable[..., AgentTerminal], tmp_path: Path) -> None:
    terminal = opened("--plain", rows=60)
    terminal.until("Ctrl-C stops the turn")
    terminal.press("please do it", ENTER)
    terminal.until("[y]es")
    terminal.press("y", ENTER)
    terminal.until("done (3 calls")
    assert (tmp_path / "project" / "a.py").read_text() == "x = 'two'\n"
    terminal.press("/undo", ENTER)
    terminal.until("taken back: ")
    terminal.press("tell me a lot", ENTER)
    terminal.until("▸ tell me a lot")
    terminal.press(CTRL_C)
    terminal.until("stopped; what was done is kept")
    assert b"\x1b[?1049h" not in terminal.written and b"\x1b]0;title" not in terminal.written
    terminal.press(CTRL_D)
    assert terminal.end() == 0 and terminal.is_given_back


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back(opened: Callable[..., AgentTerminal], number: signal.Signals) -> None:
    terminal = opened("please do it")
    first_turn(terminal)
    terminal.press("tell me a lot", ENTER)
    terminal.until("Paragraph 2 of")
    terminal.signal(number)
    assert terminal.end() == 130 and terminal.is_given_back


def test_quitting_while_a_turn_runs_asks(opened: Callable[..., AgentTerminal]) -> None:
    terminal = opened("please do it")
    first_turn(terminal)
    terminal.press("tell me a lot", ENTER)
    terminal.until("Paragraph 2 of")
    terminal.press(CTRL_D)
    terminal.until("A turn runs.")
    terminal.press("s")
    assert terminal.end() == 0 and terminal.is_given_back


def test_without_a_terminal_it_says_how_it_is_used(tmp_path: Path) -> None:
    env = environment(tmp_path)
    nothing = loopline(env=env)
    assert nothing.code == 2 and "Usage: " in nothing.err and "COMMAND" in nothing.err
    assert loopline("fix the flaky test", env=env).code == 2
