"""What goes on in the composer: chips, completions, commands; and when a key may answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.errors import UsageError
from dashboard.agent.composing.chips import Chips
from dashboard.agent.composing.commands import COMMANDS, command_of, kind_of
from dashboard.agent.composing.suggesting import best, suggest, wants_files
from dashboard.agent.conversation.attention import QUIET_S, Attention
from dashboard.agent.doing import Doing
from dashboard.agent.sessions.typed import TypedBefore


def test_a_long_paste_is_one_chip_and_is_sent_whole() -> None:
    chips, text = Chips(), "\n".join(f"line {number}" for number in range(5_000))
    chip = chips.shown(text)
    assert chip == "[paste 1: 5,000 lines]"
    assert chips.whole(f"look: {chip} ok?") == f"look: {text} ok?"
    assert chips.whole("[paste 9: 5,000 lines]") == "[paste 9: 5,000 lines]"
    assert chips.shown("two\r\nlines") == "two\nlines"
    assert chips.ending_at(f"look: {chip}", 6 + len(chip)) == 6 and chips.ending_at("look", 4) is None


def test_files_are_found_by_name_first() -> None:
    files = ["src/date_parse.py", "tests/test_parse.py", "parse/", "parse/zone.py", "README.md"]
    assert best("parse", files, 3)[0] == "parse/"
    assert best("dp", files, 8) == ["src/date_parse.py"]
    found = suggest("look at @zon", 12, first_line=True, files=files)
    assert found is not None and found.start == 8 and found.items[0].insert == "@parse/zone.py "
    assert not wants_files("mail me@example.org", 19) and suggest("@nothing", 8, first_line=True, files=files) is None


def test_commands_are_offered_and_read() -> None:
    found = suggest("/mo", 3, first_line=True, files=())
    assert found is not None and found.items[0].insert == "/model "
    choices = suggest("/approve a", 10, first_line=True, files=())
    assert choices is not None and [item.insert for item in choices.items] == ["auto", "ask"]
    command = command_of("/model gpt-5.5")
    assert command is not None and command[0].name == "model" and command[1] == "gpt-5.5"
    assert command_of("/usr/bin/env fails") is None and command_of("no command") is None
    with pytest.raises(UsageError):
        command_of("/nonsense")


def test_every_command_does_something() -> None:
    by_the_app = {"quit", "theme"}
    for command in COMMANDS:
        assert command.name in by_the_app or callable(getattr(Doing, f"_{command.name}", None)), command.name


def test_keys_from_before_the_question_never_answer_it() -> None:
    attention = Attention()
    assert not attention.may_answer(5.0), "nothing is asked"
    attention.showed(10.0)
    assert not attention.may_answer(9.9) and not attention.may_answer(10.0) and attention.may_answer(10.1)
    attention.typed(10.2)
    assert not attention.may_answer(10.2 + QUIET_S / 2) and attention.may_answer(10.3 + QUIET_S)
    attention.gone()
    assert not attention.may_answer(20.0)


def test_what_was_typed_is_kept_for_the_project_alone(tmp_path: Path) -> None:
    here, there = TypedBefore(tmp_path, Path("/a")), TypedBefore(tmp_path, Path("/b"))
    for text in ("first", "second\nline", "second\nline", "  "):
        here.add(text)
    again = TypedBefore(tmp_path, Path("/a"))
    assert list(again.texts) == ["first", "second\nline"] and list(there.texts) == []
    assert again.search("SEC") == ["second\nline"]
    assert all(file.stat().st_mode & 0o077 == 0 for file in (tmp_path / "typed").iterdir())


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("!make test", "own"), ("/approve auto", "command"), ("do it", "message"), ("!", "message"),
        ("PASTE", "message"), ("!make PASTE", "folded"), ("see PASTE", "message"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("begins", ["! rm -rf ~", "/approve auto", "text"])
def test_what_a_folded_paste_holds_is_never_done(written: str, kind: str, begins: str) -> None:
    """A log that begins with `!` is no command, however it was pasted."""
    chips = Chips()
    chip = chips.shown(begins + "\n" * 20 + "x")
    assert chip != begins
    shown = written.replace("PASTE", chip)
    assert kind_of(chips.whole(shown), shown) == kind
