"""How a session looks in a terminal: one line per tool, the assistant's words, diffs where they happen.

On a terminal a status line shows what runs; elsewhere the same lines come out plain. Everything that tools or models
say is cleaned of control characters and printed without markup.
"""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.status import Status as Spinner
from rich.text import Text

from agent_core.telemetry.display import clean, duration, one_line
from agent_core.turns.events import (
    ApprovalAsked,
    ApprovalEnded,
    InputTaken,
    Notice,
    QuestionAsked,
    ReasoningDelta,
    ReasoningDone,
    SessionOpened,
    TextDone,
    TextVoided,
    ToolBegan,
    ToolEnded,
    ToolOutput,
    TurnBegan,
    TurnEnded,
    TurnEvent,
    subject_of,
)

_MAX_DIFF_LINES = 12
_THOUGHT_LINES, _THOUGHT_CHARS = 3, 1_500
"""How much of running reasoning is looked at, from its end."""
_WORTH_TELLING_MS = 1_000
"""Reasoning that nobody may see is told of from so much time on."""
_TOOL_STYLE = {"ok": "green", "error": "red", "denied": "yellow", "timeout": "red", "cancelled": "yellow"}
_NOTICE_STYLE = {"info": "dim", "warning": "yellow", "error": "bold red"}


class Terminal:
    """An observer on a Rich console. Owns the one status line."""

    def __init__(self, console: Console, *, still: bool = False) -> None:
        """`still`: no status line, only lines that go by."""
        self._console, self._still = console, still
        self._spinner: Spinner | None = None
        self._thought = ""
        self.session_id = ""
        """Of the session that was opened."""

    def __call__(self, event: TurnEvent) -> None:
        match event:
            case SessionOpened(session_id=session_id, model=model, endpoint=endpoint, note=note):
                self.session_id = session_id
                named = f"{model} ({note})" if note else model
                self._print(Text(f"loopline · {one_line(named, 200)} · {one_line(endpoint, 200)}", style="bold"))
            case TurnBegan(task=task):
                self._print(Text(f"▸ {one_line(task, 200)}"))
                self._busy("thinking")
            case InputTaken(text=text, fate=fate):
                self._print(Text(f"▸ {one_line(text, 200)}  ({fate})"))
            case ReasoningDelta(text=text):
                self._thought = (self._thought + text)[-_THOUGHT_CHARS:]
                self._thinking()
            case ReasoningDone():
                self._thought = ""
                self._fold(event)
            case TextDone(text=text):
                self._console.print(Padding(Text(clean(text).strip(), style="italic"), (0, 0, 0, 2)))
            case ToolBegan(name=name, arguments=arguments):
                self._busy(f"{name} {subject_of(arguments)}")
            case ToolOutput(line=line):
                self._busy(line)
            case ToolEnded():
                self._tool(event)
                self._busy("thinking")
            case ApprovalAsked() | QuestionAsked():
                self._idle()
            case ApprovalEnded(decision=decision):
                self._print(Text(f"  {decision}", style="dim"))
            case TextVoided(cause=cause):
                self._thought = ""
                self._print(Text(f"  the reply broke off ({cause}); asking again", style="yellow"))
            case Notice(severity=severity, text=text):
                self._print(Text(clean(text), style=_NOTICE_STYLE[severity]))
            case TurnEnded():
                self._idle()

    def _thinking(self) -> None:
        """The latest lines of what the model thinks, while it does."""
        if self._still or not self._console.is_terminal:
            return
        width = self._console.width - 4
        lines = [line for line in clean(self._thought).split("\n") if line.strip()]
        pieces = [line[at : at + width] for line in lines for at in range(0, len(line), width)]
        self._status(Text("\n".join(pieces[-_THOUGHT_LINES:]) or "thinking", style="dim italic"))

    def _fold(self, done: ReasoningDone) -> None:
        """What was thought, on one line with its time."""
        said = one_line(clean(done.text).strip(), 200)
        if not said and done.duration_ms < _WORTH_TELLING_MS:
            return
        line = f"∴ thought for {duration(done.duration_ms)}" + (f" · {said}" if said else "")
        shown = Text(line, style="dim")
        shown.truncate(self._console.width, overflow="ellipsis")
        self._print(shown)
        self._busy("thinking")

    def _tool(self, ended: ToolEnded) -> None:
        line = Text("● ", style=_TOOL_STYLE[ended.status])
        line.append(f"{one_line(ended.name, 60):<10} ", style="default")
        line.append(f"{one_line(subject_of(ended.arguments), 44):<44} ", style="default")
        summary = ended.summary or (one_line(ended.output, 60) if ended.status != "ok" else "")
        line.append(one_line(summary, 60), style="default" if ended.status == "ok" else _TOOL_STYLE[ended.status])
        line.append(f"  {duration(ended.duration_ms)}", style="dim")
        self._print(line)
        for row in _diff_rows(ended.diff):
            self._print(row)

    def _print(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)

    def _busy(self, what: str) -> None:
        if not self._console.is_terminal:
            return
        self._status(Text(one_line(what, self._console.width - 4), style="dim"))

    def _status(self, shown: Text) -> None:
        if self._spinner is None:
            self._spinner = self._console.status(shown, spinner="dots")
            self._spinner.start()
        else:
            self._spinner.update(shown)

    def _idle(self) -> None:
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def close(self) -> None:
        """Give the terminal back: no status line, cursor shown."""
        self._idle()


def diff_text(diff: str) -> Text:
    """A unified diff, coloured and signed."""
    return Text("\n").join(_coloured(line) for line in clean(diff).rstrip("\n").split("\n"))


def _coloured(line: str) -> Text:
    if line.startswith(("+++", "---")):
        return Text(line, style="bold")
    return Text(line, style={"+": "green", "-": "red", "@": "cyan"}.get(line[:1], ""))


def _diff_rows(diff: str) -> list[Text]:
    lines = [line for line in clean(diff).split("\n") if line[:1] in "+-" and not line.startswith(("+++", "---"))]
    lines = [line for line in lines if line]
    rows = [Text(" " * 13) + _coloured(line) for line in lines[:_MAX_DIFF_LINES]]
    if len(lines) > _MAX_DIFF_LINES:
        rows.append(Text(f"{'':13}… {len(lines) - _MAX_DIFF_LINES} more lines", style="dim"))
    return rows
