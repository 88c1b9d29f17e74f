"""The keys of the main screen, in one table: what binds them, what the help says of them."""

from __future__ import annotations

import msgspec
from textual.binding import Binding, BindingType


class Key(msgspec.Struct, frozen=True):
    """`keys` as Textual names them, `shown` as people do ("": the help says it with another one)."""

    keys: str
    shown: str
    action: str
    name: str
    what: str


KEYS: tuple[Key, ...] = (
    Key("1", "1", "tab(0)", "Waterfall", "where the time of the turn went"),
    Key("2", "2", "tab(1)", "Tokens", "what went in, what of it was cached, what came out"),
    Key("3", "3", "tab(2)", "Cache & reuse", "what the open socket saved"),
    Key("4", "4", "tab(3)", "Connection", "sockets, their age, and what happened to them"),
    Key("5", "5", "tab(4)", "Errors", "what went wrong"),
    Key("6", "6", "tab(5)", "Raw", "events as they came"),
    Key("right,l", "→ l", "to_panel", "To the panel", "Enter in the list does the same"),
    Key("left,h", "← h", "to_turns", "To the turns", "and back to the list where there is room for one"),
    Key(
        "slash",
        "/",
        "filter",
        "Filter",
        "turns by words: failed, status:failed, model:…, tool:…, project:…, -word; in Raw its events",
    ),
    Key("s", "s", "search", "Search", "in the panel"),
    Key("n", "n N", "find(1)", "Next match", "and the previous one"),
    Key("N", "", "find(-1)", "Previous match", "previous match"),
    Key("f", "f", "follow", "Follow", "select the newest turn as it comes, or stop doing so"),
    Key("space", "space", "pause", "Pause", "hold the screen, or the replay; events go on being counted"),
    Key("plus,equals_sign", "+ -", "rate(1)", "Draw more often", "draw 0.5 to 10 times a second"),
    Key("minus", "", "rate(-1)", "Draw less often", "down to once in two seconds"),
    Key("c", "c", "compare", "Compare turns", "mark one, then another"),
    Key("m", "m", "compare_models", "Compare models", "side by side"),
    Key("a", "a", "approve", "Answer an approval", "of a session on this machine"),
    Key("x", "x", "cancel", "Cancel the turn", "the selected one, if this machine runs it"),
    Key("y", "y", "copy", "Copy", "the selected line"),
    Key("e", "e", "export", "Export", "write the listed turns as .ndjson (which --replay plays) or .csv"),
    Key("o", "o", "older", "Older", "one more day of history"),
    Key("t", "t", "theme", "Theme", "the next one: dark, light, the terminal's own colours"),
    Key("question_mark", "?", "help", "Help", "keys, signs, and the formula of every number"),
    Key("escape", "Esc", "back", "Back", "and forget what was searched, filtered or marked"),
    Key("q", "q", "quit", "Quit", "leave the dashboard"),
)
MOVING = (
    ("↑ ↓ j k", "Up and down", ""),
    ("PgUp PgDn", "A page", "up and down"),
    ("g G", "First and last", "line"),
    ("Enter", "Open", "the selected turn"),
    ("Tab", "Next part", "of the screen"),
    ("Ctrl+P", "Command palette", "all of this by name"),
)
MAIN_KEYS: list[BindingType] = [
    Binding(key.keys, f"app.{key.action}" if key.action == "quit" else key.action, key.name, show=False) for key in KEYS
]
