"""A question to the person: what is to be done, whole, why it is asked, and the keys that answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from agent_core.turns.approval import Approval
from dashboard.agent.paint.wrapping import plain, wrap
from dashboard.state.format import one_line, visible
from dashboard.widgets.spans import Line, Span, joined, line_width


class Answer(msgspec.Struct, frozen=True):
    key: str
    name: str
    words: str


def answers(approval: Approval) -> tuple[Answer, ...]:
    """What may be answered, the first one highlighted to begin with."""
    offered = [Answer("y", "allow", "allow")]
    if approval.always:
        offered.append(Answer("a", "always", "always"))
    return (*offered, Answer("n", "deny", "deny"), Answer("e", "why", "say why not"))


def paint_body(approval: Approval, width: int, more: int) -> list[Line]:
    """What is asked; control characters spelled out, so that nothing can hide. `more` further ones wait."""
    kind = {"command": "run", "edit": "edit"}.get(approval.kind, "use")
    title: list[Span] = [(f"Loopline wants to {kind} ", "approval"), (one_line(approval.name, 60), "strong")]
    if more:
        title.append((f"   {more} more wait", "dim"))
    lines: list[Line] = [(("? ", "approval"), *title)]
    if approval.rule:
        lines += wrap([(f"asked because {plain(approval.rule)}", "dim")], width, (("  ", ""),), (("  ", ""),))
    lines += wrap([(visible(approval.subject), "strong")], width, (("  ", ""),), (("  ", ""),))
    return lines


def paint_keys(approval: Approval, chosen: int, width: int, *, unseen: int, quiet: bool) -> Line:
    """The answers; `unseen` lines of what is asked were not in sight yet, `quiet` says that keys go to the composer."""
    if unseen:
        return (("  ↓ ", "accent"), (f"{unseen:,} more lines: PgDn a page, End the last", "warn"), ("   n deny", "dim"))
    line = _answers(approval, chosen, [answer.words for answer in answers(approval)], " ")
    if line_width(line) > width:
        line = _answers(approval, chosen, [answer.name for answer in answers(approval)], "")
    hint = "   Tab: answer" if quiet else "   Enter takes the marked one"
    return (*line, (hint, "dim")) if line_width(line) + len(hint) <= width else line


def _answers(approval: Approval, chosen: int, words: Sequence[str], gap: str) -> Line:
    parts: list[Line] = []
    for at, (answer, word) in enumerate(zip(answers(approval), words, strict=True)):
        if at == chosen:
            parts.append(((f" {answer.key} {word} ", "chosen"),))
        else:
            parts.append(((f" {answer.key}", "accent"), (f" {word} ", "")))
    return (("  ", ""), *joined(parts, gap))
