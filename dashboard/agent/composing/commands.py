"""The commands that begin with `/`, in one table: what they are called, what they take, what they do. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from agent_core.config.settings import Effort
from agent_core.errors import UsageError
from agent_core.telemetry.display import one_line


class SlashCommand(msgspec.Struct, frozen=True):
    """`argument` "" where it takes none; `choices` are those that are known beforehand."""

    name: str
    argument: str
    what: str
    choices: tuple[str, ...] = ()


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("model", "[NAME]", "which model answers from the next turn on"),
    SlashCommand("effort", "[LEVEL]", "how hard the model thinks", get_args(Effort)),
    SlashCommand("plan", "", "from the next message on: plan only, write nothing"),
    SlashCommand("act", "", "from the next message on: do what is asked for"),
    SlashCommand("approve", "[auto|ask|never]", "what is asked before it is done", ("auto", "ask", "never")),
    SlashCommand("resume", "[ID|PREFIX|TITLE]", "go on with another session"),
    SlashCommand("new", "", "begin another session here"),
    SlashCommand("fork", "", "go on in a copy of this session"),
    SlashCommand("diff", "", "what the latest turn changed in files"),
    SlashCommand("undo", "", "take back what the latest turn did to files"),
    SlashCommand("redo", "", "take the latest undoing back"),
    SlashCommand("compact", "", "make the conversation shorter"),
    SlashCommand("status", "", "session, model, service and folders"),
    SlashCommand("cost", "", "tokens and cost of this session"),
    SlashCommand("export", "[FILE]", "write the conversation as Markdown"),
    SlashCommand("theme", "[NAME]", "dark, light, or the terminal's own colours"),
    SlashCommand("help", "", "keys and commands"),
    SlashCommand("quit", "", "leave"),
)


def kind_of(text: str, shown: str) -> Literal["command", "own", "folded", "message"]:
    """What a message may be by what stood in the composer: what a folded paste holds is said and never done. `own` is a
    command of the person's own, `folded` one with a paste that was not in sight."""
    if shown.startswith("!") and shown[1:].strip():
        return "own" if text == shown else "folded"
    return "command" if shown.startswith("/") else "message"


def command_of(text: str) -> tuple[SlashCommand, str] | None:
    """The command that a message is, with its argument; None where it is none. Raises UsageError for one that there is
    not."""
    if not text.startswith("/") or "\n" in text.strip():
        return None
    name, _, argument = text[1:].strip().partition(" ")
    if "/" in name:
        return None  # a path
    found = next((command for command in COMMANDS if command.name == name), None)
    if found is None:
        raise UsageError(f"there is no command /{one_line(name, 40)}", hint="/help lists them")
    return found, argument.strip()


def matching(words: str, commands: Sequence[SlashCommand] = COMMANDS) -> list[SlashCommand]:
    """Commands by the start of their names, then by any part of them."""
    starts = [command for command in commands if command.name.startswith(words)]
    return starts + [command for command in commands if words in command.name and command not in starts]
