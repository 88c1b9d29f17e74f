"""Blocks of a conversation to lines. Pure: block, width and whether it is open give the lines, nothing else."""

from __future__ import annotations

from agent_core.turns.events import subject_of
from dashboard.agent.conversation.blocks import (
    Asked,
    Block,
    Ended,
    Inquiry,
    Note,
    PlanList,
    Said,
    Thought,
    Tool,
    Undone,
    You,
)
from dashboard.agent.paint.diff import counts, paint_diff
from dashboard.agent.paint.markdown import paint_markdown
from dashboard.agent.paint.wrapping import plain, wrap
from dashboard.state.format import duration, one_line, visible
from dashboard.widgets.spans import Line, Role, Span, left, line_width, right

INDENT: Line = (("  ", ""),)
DIFF_LINES, OUTPUT_LINES, TAIL_SHOWN = 12, 400, 3
"""Lines of a diff that show by themselves, of an output that was opened, of a command that runs."""
MESSAGE_LINES = 30
"""Lines of a message that show by themselves."""
NAME_CELLS = 10

_TOOL_LOOKS: dict[str | None, tuple[str, Role]] = {
    None: ("○", "accent"),
    "ok": ("●", "tools"),
    "error": ("✗", "bad"),
    "denied": ("⊘", "warn"),
    "timeout": ("✗", "bad"),
    "cancelled": ("■", "warn"),
}
_END_LOOKS: dict[str, tuple[str, Role]] = {
    "completed": ("✓ done", "good"),
    "failed": ("✗ failed", "bad"),
    "cancelled": ("■ stopped; what was done is kept", "warn"),
    "interrupted": ("■ interrupted", "warn"),
}
_DECISIONS: dict[str, tuple[str, Role]] = {
    "allow": ("allowed", "good"),
    "always": ("always allowed", "good"),
    "deny": ("denied", "warn"),
    "withdrawn": ("not asked any more", "dim"),
}
_STEPS: dict[str, tuple[str, Role]] = {"done": ("✓", "good"), "active": ("▸", "accent")}


def paint_block(block: Block, width: int, *, opened: bool = False, before: Block | None = None) -> list[Line]:
    """`before` is the block above, which says whether a blank line is due."""
    lines = _painted(block, width, opened)
    return [(), *lines] if before is not None and _apart(before, block) else lines


def can_open(block: Block) -> bool:
    """Whether there is more of it than it shows by itself."""
    match block:
        case Tool():
            return bool(block.output or block.diff or block.tail or len(subject_of(block.arguments)) > 40)
        case Asked():
            return True
        case You():
            return block.text.count("\n") >= MESSAGE_LINES
        case Thought() | Ended():
            return bool(block.text)
    return False


def _apart(before: Block, block: Block) -> bool:
    if isinstance(block, Tool | Asked) and isinstance(before, Tool | Asked):
        return bool(isinstance(before, Tool) and before.mine) or bool(isinstance(block, Tool) and block.mine)
    return not (isinstance(block, Note) and isinstance(before, Note))


def _painted(block: Block, width: int, opened: bool) -> list[Line]:
    match block:
        case You():
            return _you(block, width, opened)
        case Said():
            return [(*INDENT, *line) if line else () for line in paint_markdown(block.text, width - 2)]
        case Thought():
            return _thought(block, width, opened)
        case Tool():
            return _tool(block, width, opened)
        case PlanList():
            return _plan(block, width)
        case Asked():
            return _asked(block, width, opened)
        case Inquiry():
            return _inquiry(block, width)
        case Note():
            role: Role = {"info": "dim", "warning": "warn", "error": "bad"}[block.severity]  # type: ignore[assignment]
            mark = {"info": "· ", "warning": "! ", "error": "✗ "}[block.severity]
            return wrap([(plain(block.text), role)], width, ((mark, role),), INDENT)
        case Undone():
            return _undone(block, width)
        case Ended():
            return _ended(block, width)
    raise AssertionError(type(block))


def _you(block: You, width: int, opened: bool) -> list[Line]:
    first: Line = (("› ", "accent"),)
    fates = {"queued": "waits", "steered": "said to the turn that runs", "refused": "not taken"}
    rows = plain(block.text).strip("\n").split("\n")
    shown = rows if opened or len(rows) <= MESSAGE_LINES else rows[:MESSAGE_LINES]
    spans: list[Span] = [("\n".join(shown), "strong")]
    if len(shown) < len(rows):
        spans.append((f"\n… {len(rows) - len(shown):,} more lines ▸", "dim"))
    if block.fate:
        spans.append((f"  ({fates[block.fate]})", "warn" if block.fate == "refused" else "dim"))
    return wrap(spans, width, first, INDENT)


def _thought(block: Thought, width: int, opened: bool) -> list[Line]:
    words = "thinking" if block.seconds is None else "thought"
    if block.seconds:
        words += f" for {duration(block.seconds * 1000)}"
    lines: list[Line] = [((f"  {words} ", "dim"), (_mark(opened) if block.text else "", "dim"))]
    if opened and block.text:
        lines += [(("  ", ""), *line) for line in wrap([(plain(block.text).strip(), "quote")], width - 2)]
    return lines


def _tool(block: Tool, width: int, opened: bool) -> list[Line]:
    glyph, role = _TOOL_LOOKS[block.status]
    name = "you ran" if block.mine else one_line(block.name, 40)
    subject = one_line(subject_of(block.arguments), 400)
    took = duration(block.duration_ms) if block.duration_ms is not None else ""
    summary = one_line(block.summary or _failed(block), 200)
    if block.diff:
        put, out = counts(block.diff)
        summary = f"+{put} -{out}"
    if can_open(block) and block.status is not None:
        summary = f"{summary} {_mark(opened)}".lstrip()
    head: list[Span] = [(f"{glyph} ", role), (left(name, max(NAME_CELLS, min(16, len(name)))) + " ", "")]
    lines = [_in_columns(tuple(head), subject, summary, role if block.status not in ("ok", None) else "", took, width)]
    if block.status is None:
        lines += [_tail(line, width) for line in block.tail[-TAIL_SHOWN:]]
    if opened and len(subject_of(block.arguments)) > 40:
        lines += wrap([(visible(subject_of(block.arguments)), "")], width, (("      ", ""),), (("      ", ""),))
    if block.diff:
        lines += paint_diff(block.diff, width, 6, None if opened else DIFF_LINES)
    if opened and block.output:
        lines += _output(block.output, width)
    return lines


def _in_columns(head: Line, subject: str, summary: str, role: Role, took: str, width: int) -> Line:
    """Name, subject, what came of it, how long: the figures on the right go first where there is no room."""
    room = width - line_width(head)
    took_cells = 10 if took and width >= 70 else 0
    summary_cells = min(max(0, room - took_cells - 12), max(24, room * 2 // 5), len(summary) + 6) if summary else 0
    subject_cells = room - took_cells - (summary_cells + 2 if summary_cells else 0)
    line: list[Span] = [*head, (left(subject, max(1, subject_cells)), "")]
    if summary_cells:
        line += [("  ", ""), (left(summary, summary_cells), role or "dim")]
    if took_cells:
        line.append((right(took, took_cells), "dim"))
    return tuple(line)


def _tail(line: str, width: int) -> Line:
    return (("      ", ""), (left(one_line(line, 400), max(1, width - 6)).rstrip(), "dim"))


def _output(output: str, width: int) -> list[Line]:
    rows = plain(output).rstrip("\n").split("\n")
    shown = rows if len(rows) <= OUTPUT_LINES else [*rows[: OUTPUT_LINES // 2], "", *rows[-OUTPUT_LINES // 2 :]]
    lines: list[Line] = []
    for at, row in enumerate(shown):
        if len(rows) > OUTPUT_LINES and at == OUTPUT_LINES // 2:
            row = f"… {len(rows) - OUTPUT_LINES:,} lines are left out here"
        lines += wrap([(row, "dim")], width, (("      ", ""),), (("      ", ""),))
    return lines


def _failed(block: Tool) -> str:
    return block.output if block.status not in ("ok", None) else ""


def _plan(block: PlanList, width: int) -> list[Line]:
    done = sum(step.status == "done" for step in block.steps)
    lines: list[Line] = [(("  plan ", "strong"), (f"{done} of {len(block.steps)}", "dim"))]
    for step in block.steps:
        glyph, role = _STEPS.get(step.status, ("○", "dim"))
        words: Role = "dim" if step.status == "done" else "strong" if step.status == "active" else ""
        lines += wrap([(plain(step.text), words)], width, ((f"    {glyph} ", role),), (("      ", ""),))
    return lines


def _asked(block: Asked, width: int, opened: bool) -> list[Line]:
    approval = block.approval
    head: Line = (("? ", "approval"), (left(one_line(approval.name, 40), NAME_CELLS) + " ", ""))
    words, role = _DECISIONS.get(block.decision, (one_line(block.decision, 20), "dim"))
    if not block.decision:
        words, role = "waits for you", "approval"
    by = f" by {one_line(block.by, 20)}" if block.by and block.by != "tui" else ""
    mark = f" {_mark(opened)}" if can_open(block) else ""
    lines = [_in_columns(head, one_line(approval.subject, 400), f"{words}{by}{mark}", role, "", width)]
    if opened:
        margin: Line = (("      ", ""),)
        if approval.rule:
            lines += wrap([(f"asked because {plain(approval.rule)}", "dim")], width, margin, margin)
        lines += wrap([(visible(approval.subject), "")], width, margin, margin)
    return lines


def _inquiry(block: Inquiry, width: int) -> list[Line]:
    lines = wrap([(plain(block.question), "strong")], width, (("? ", "approval"),), INDENT)
    if block.open:
        for number, option in enumerate(block.options, 1):
            lines += wrap([(plain(option), "")], width, ((f"    {number} ", "accent"),), (("      ", ""),))
        hint = "a number, or your own words" if block.options else "answer in your own words"
        lines.append((("    ", ""), (hint, "approval")))
        return lines
    by = f" by {one_line(block.by, 20)}" if block.by and block.by != "tui" else ""
    answer = plain(block.answer) or "no answer"
    return lines + wrap([(answer, "" if block.answer else "dim"), (by, "dim")], width, (("  › ", "accent"),), INDENT)


def _undone(block: Undone, width: int) -> list[Line]:
    if not block.restored and not block.conflicts:
        return [(("↶ nothing to take back", "dim"),)]
    words, mark = ("put back: ", "↷ ") if block.again else ("taken back: ", "↶ ")
    lines = wrap(
        [(words, "strong"), (plain(", ".join(block.restored)) or "nothing", "")],
        width, ((mark, "accent"),), INDENT,
    )  # fmt: skip
    if block.conflicts:
        text = f"left as they are, they changed since: {plain(', '.join(block.conflicts))}"
        lines += wrap([(text, "warn")], width, INDENT, INDENT)
    return lines


def _ended(block: Ended, width: int) -> list[Line]:
    words, role = _END_LOOKS[block.status]
    known: list[str] = []
    if block.calls is not None:
        known.append(f"{block.calls} call{'s' if block.calls != 1 else ''}")
    if block.duration_ms is not None:
        known.append(duration(block.duration_ms))
    figures = " · ".join((*known, *block.figures))
    head: Line = ((words, role),)
    gap = width - line_width(head) - len(figures)
    line: Line = (*head, (" " * gap, ""), (figures, "dim")) if gap >= 2 else head
    lines = [line]
    if block.text and block.status != "cancelled":
        lines += wrap([(plain(block.text).strip(), role if block.status == "failed" else "dim")], width, INDENT, INDENT)
    return lines


def _mark(opened: bool) -> str:
    return "▾" if opened else "▸"
