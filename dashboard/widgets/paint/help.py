"""The help: every key, then every number with its unit and formula. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dashboard.state.format import REUSE_WORDS, STAGE_WORDS
from dashboard.state.glossary import GLOSSARY
from dashboard.widgets.spans import STAGE_GLYPHS, STAGE_ROLES, Line, Page, Role, Row, Span, left

_KEY_CELLS, _NAME_CELLS = 10, 20


def paint(keys: Sequence[tuple[str, str, str]], width: int) -> Page:
    """`keys` are (what is pressed, what it is called, what it does)."""
    rows = [_title("Keys")]
    for pressed, name, what in keys:
        for at, row in enumerate(_entry(name, what, "", width - _KEY_CELLS)):
            rows.append(Row(((left("" if at else pressed, _KEY_CELLS), "accent"), *row.line)))
    rows += [Row(()), _title("Signs"), *_signs()]
    rows += [Row(()), _title("Numbers: unit and formula. Unknown is –, never 0; ≈ is an estimate.")]
    for meaning in GLOSSARY:
        rows += _entry(meaning.name, f"[{meaning.unit}] {meaning.formula}", "strong", width)
    return Page(rows=rows)


def _title(text: str) -> Row:
    return Row(((text, "head"),))


def _entry(name: str, text: str, role: Role, width: int) -> list[Row]:
    parts = textwrap.wrap(text, max(20, width - _NAME_CELLS)) or [""]
    rows = [Row(((left(name, _NAME_CELLS), role), (parts[0], "")))]
    rows += [Row(((" " * _NAME_CELLS, ""), (part, ""))) for part in parts[1:]]
    return rows


def _signs() -> list[Row]:
    stages: list[Span] = []
    for stage, word in STAGE_WORDS.items():
        stages += [(f"{STAGE_GLYPHS[stage] * 2} ", STAGE_ROLES[stage]), (f"{word}   ", "")]
    lines: list[Line] = [
        tuple(stages),
        (("┃ first token   › still running   ✗ went wrong   ▌ selected", ""),),
        (("▶ running   ? waits for approval   ✓ completed   ✗ failed   ■ cancelled   ! interrupted", ""),),
        (("   ".join(REUSE_WORDS.values()), ""),),
    ]
    return [Row(line) for line in lines]
