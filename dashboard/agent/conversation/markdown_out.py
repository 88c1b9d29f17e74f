"""A page as Markdown, to be kept. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from dashboard.agent.conversation.blocks import Asked, Block, Ended, PlanList, Said, Tool, Undone, You
from dashboard.state.format import clean, one_line

MAX_OUTPUT = 4_000


def as_markdown(blocks: Iterable[Block]) -> str:
    parts: list[str] = []
    for block in blocks:
        match block:
            case You(text=text):
                parts.append("\n".join(f"> {line}" for line in clean(text).split("\n")))
            case Said(text=text):
                parts.append(clean(text))
            case Tool():
                parts.append(_tool(block))
            case PlanList(steps=steps):
                parts.append("\n".join(f"- [{'x' if s.status == 'done' else ' '}] {one_line(s.text)}" for s in steps))
            case Asked(approval=approval, decision=decision):
                parts.append(f"*asked: `{one_line(approval.subject)}` {decision}*")
            case Ended(status=status, text=text):
                parts.append(f"*{status}*" + (f": {clean(text)}" if text else ""))
            case Undone(restored=restored):
                parts.append(f"*taken back: {one_line(', '.join(restored))}*")
    return "\n\n".join(parts) + "\n"


def _tool(block: Tool) -> str:
    head = (
        f"**{one_line(block.name, 60)}** `{one_line(block.arguments, 200).replace('`', '')}` {one_line(block.summary)}"
    )
    shown = block.diff or block.output[:MAX_OUTPUT]
    if not shown:
        return head
    fence = "```"
    while fence in shown:
        fence += "`"
    return f"{head}\n\n{fence}{'diff' if block.diff else ''}\n{clean(shown).rstrip()}\n{fence}"
