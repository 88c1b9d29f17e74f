"""Markdown to lines of spans. Pure; the parser is loaded when the first text is drawn.

What a model writes is only ever text: no HTML is obeyed, no link is a link of the terminal (its address is shown).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len

from dashboard.agent.paint.code import code_lines
from dashboard.agent.paint.wrapping import chopped, plain, wrap
from dashboard.widgets.spans import Line, Role, Span, left

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BULLETS = ("•", "◦", "▪")
MAX_DEPTH = 12
"""Of lists and quotes within one another; deeper ones stay at that indent."""


def paint_markdown(text: str, width: int) -> list[Line]:
    """The lines of a text in `width` cells; none for a text of blanks."""
    return _Painter(max(8, width)).paint(_parser().parse(plain(text)))


@lru_cache(1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": 2 * MAX_DEPTH}).enable(["table", "strikethrough"])


class _Painter:
    """One walk over the tokens of one text."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[Line] = []
        self._before: list[tuple[Line, Line]] = []
        """For each open list item and quote: what stands before its first line, and before the others."""
        self._counts: list[int | None] = []
        self._fresh = False
        """The next line is the first of a list item."""
        self._begins = False
        """The next block is the first of a quote."""

    def paint(self, tokens: Sequence[Token]) -> list[Line]:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            match token.type:
                case "heading_open":
                    self._gap()
                    self._write(_inline(tokens[at + 1], "title"))
                    at += 2
                case "paragraph_open":
                    if not token.hidden:
                        self._gap()
                    self._write(_inline(tokens[at + 1], self._base()))
                    at += 2
                case "fence" | "code_block":
                    self._gap()
                    self._code(token.content, token.info.split(" ")[0])
                case "hr":
                    self._gap()
                    self._write([("─" * min(40, self._room()), "dim")])
                case "table_open":
                    end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
                    self._gap()
                    self._table(tokens[at:end])
                    at = end
                case "bullet_list_open":
                    self._open_list(None)
                case "ordered_list_open":
                    self._open_list(int(token.attrGet("start") or 1))
                case "bullet_list_close" | "ordered_list_close":
                    self._counts.pop()
                case "list_item_open":
                    self._item()
                case "blockquote_open":
                    self._gap()
                    self._push((("│ ", "dim"),), (("│ ", "dim"),))
                    self._begins = True
                case "list_item_close" | "blockquote_close":
                    self._pop()
                case "html_block":
                    self._gap()
                    self._write([(token.content.rstrip("\n"), "dim")])
            at += 1
        return self._lines

    # Blocks

    def _open_list(self, start: int | None) -> None:
        if not self._counts:
            self._gap()
        self._counts.append(start)

    def _item(self) -> None:
        count = self._counts[-1]
        if count is None:
            mark = f"{BULLETS[(len(self._counts) - 1) % len(BULLETS)]} "
        else:
            mark = f"{count}. "
            self._counts[-1] = count + 1
        self._push(((mark, "dim"),), ((" " * cell_len(mark), ""),))
        self._fresh = True

    def _push(self, first: Line, rest: Line) -> None:
        if len(self._before) >= MAX_DEPTH:
            first = rest = ()
        self._before.append((first, rest))

    def _pop(self) -> None:
        self._before.pop()

    def _base(self) -> Role:
        return "quote" if any(rest and rest[0][0] == "│ " for _, rest in self._before) else ""

    def _room(self) -> int:
        return max(8, self._width - sum(cell_len(text) for _, rest in self._before for text, _ in rest))

    def _prefix(self) -> tuple[Line, Line]:
        rest = tuple(span for _, each in self._before for span in each)
        if not self._fresh or not self._before:
            return rest, rest
        self._fresh = False
        outer = tuple(span for _, each in self._before[:-1] for span in each)
        return (*outer, *self._before[-1][0]), rest

    def _gap(self) -> None:
        """A blank line between blocks; none at the beginning of the text or of a list item."""
        begins, self._begins = self._begins, False
        if self._lines and not self._fresh and not begins:
            quote = tuple(span for _, each in self._before for span in each if span[0] == "│ ")
            self._lines.append(quote)

    def _write(self, spans: Sequence[Span]) -> None:
        first, rest = self._prefix()
        self._lines += wrap(spans, self._width, first, rest)

    def _code(self, text: str, language: str) -> None:
        for line in code_lines(text.rstrip("\n"), language):
            first, rest = self._prefix()
            self._lines += chopped(line, self._width, (*first, ("  ", "")), (*rest, ("  ", "")))

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[list[list[Span]]] = []
        aligned: list[str] = []
        for at, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                head = token.type == "th_open"
                if head:
                    aligned.append(str(token.attrGet("style") or ""))
                rows[-1].append(_inline(tokens[at + 1], "strong" if head else ""))
        if not rows:
            return
        widths = _column_widths([[_text(cell) for cell in row] for row in rows], self._room())
        for number, row in enumerate(rows):
            first, _ = self._prefix()
            line: list[Span] = list(first)
            for column, cell in enumerate(row):
                to_right = column < len(aligned) and "right" in aligned[column]
                line += _cell(cell, widths[column], to_right=to_right)
                line.append(("  ", ""))
            self._lines.append(tuple(line))
            if number == 0:
                first, _ = self._prefix()
                self._lines.append((*first, ("  ".join("─" * each for each in widths), "dim")))


def _inline(token: Token, base: Role) -> list[Span]:
    """The spans of a line of text; what stands innermost counts."""
    spans: list[Span] = []
    roles: list[Role] = [base]
    address = ""
    for child in token.children or ():
        match child.type:
            case "text":
                spans.append((child.content, roles[-1]))
            case "code_inline":
                spans.append((child.content, "code"))
            case "softbreak":
                spans.append((" ", roles[-1]))
            case "hardbreak":
                spans.append(("\n", roles[-1]))
            case "strong_open":
                roles.append("strong")
            case "em_open":
                roles.append("em")
            case "s_open":
                roles.append("dim")
            case "link_open":
                address = str(child.attrGet("href") or "")
                roles.append("link")
            case "link_close":
                roles.pop()
                if address and address not in _text(spans):
                    spans.append((f" ({plain(address)})", "dim"))
            case "strong_close" | "em_close" | "s_close":
                roles.pop()
            case "image":
                spans.append((f"[picture: {child.content or plain(str(child.attrGet('src') or ''))}]", "dim"))
            case "html_inline":
                spans.append((child.content, "dim"))
    return spans


def _text(spans: Sequence[Span]) -> str:
    return "".join(text for text, _ in spans)


def _column_widths(rows: list[list[str]], room: int) -> list[int]:
    columns = max(len(row) for row in rows)
    widths = [max(1, *(cell_len(row[at]) for row in rows if at < len(row))) for at in range(columns)]
    while sum(widths) + 2 * (columns - 1) > room and max(widths) > 4:
        widths[widths.index(max(widths))] -= 1
    return widths


def _cell(spans: Sequence[Span], width: int, *, to_right: bool) -> list[Span]:
    length = cell_len(_text(spans))
    if length > width:
        return [(left(_text(spans), width), spans[0][1] if spans else "")]
    blank: Span = (" " * (width - length), "")
    return [blank, *spans] if to_right else [*spans, blank]
