"""The keys of the conversation, as the help tells them."""

from __future__ import annotations

KEYS: tuple[tuple[str, str], ...] = (
    ("Enter", "send; while a turn runs, say it to that turn"),
    ("Alt+Enter", "send for after the turn that runs"),
    ("Alt+↑", "take back what waits"),
    ("Ctrl+J, \\ Enter", "another line"),
    ("↑ ↓", "what was written before"),
    ("@", "name a file"),
    ("!", "run a command of your own; its output goes along with your next message"),
    ("PgUp PgDn", "a page up and down; Shift+↑ Shift+↓ a line, Ctrl+Home Ctrl+End first and last"),
    ("Ctrl+↑ Ctrl+↓", "mark a tool call; Ctrl+O opens it, Esc unmarks it"),
    ("Esc", "stop the turn, what was done is kept; twice: write the last message anew"),
    ("y a n e", "allow, always allow, deny, deny and say why; Enter takes the marked one"),
    ("F2, Tab", "turn the conversation over: where time, tokens and bytes of its turns went"),
    ("Ctrl+C", "clear; twice: quit"),
    ("Ctrl+D", "quit"),
    ("Ctrl+_ Ctrl+Y", "undo and redo what was written"),
    ("Ctrl+G", "write the message in your own editor (VISUAL, EDITOR)"),
    ("Ctrl+R", "choose among what was written before"),
    ("Ctrl+Z", "to the shell; fg comes back"),
    ("Ctrl+P", "all commands"),
)
