"""The looks: what each role looks like in a dark, a light and two terminal-coloured themes.

Roles are told apart by glyph and word too, so a look may be as plain as the terminal. `ansi-*` use the terminal's own
sixteen colours and come with Textual.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from rich.style import Style
from textual.theme import Theme

from dashboard.widgets.spans import Role


class Palette(msgspec.Struct, frozen=True):
    roles: Mapping[Role, Style]
    cursor: Style
    """The selected row of the panel that has the keyboard."""
    marked: Style
    """The selected row elsewhere."""
    match: Style
    """What a search found."""


DARK, LIGHT = "loopline-dark", "loopline-light"
THEMES = (
    Theme(
        name=DARK, dark=True, primary="#5aa9ff", secondary="#9aa3b2", accent="#5aa9ff", warning="#e6c34a",
        error="#ff7a7a", success="#62c073", foreground="#d7dce4", background="#14171c", surface="#1b1f26",
        panel="#262b34",
    ),
    Theme(
        name=LIGHT, dark=False, primary="#1763c2", secondary="#565f6d", accent="#1763c2", warning="#7d5f00",
        error="#b42323", success="#1c7434", foreground="#1f242c", background="#fbfbfa", surface="#f0f0ee",
        panel="#e9eae9",
    ),
)  # fmt: skip
CYCLE = (DARK, LIGHT, "ansi-dark", "ansi-light")


def _colours(
    *, inference: str, overhead: str, tools: str, approval: str, other: str, dim: str, bad: str, warn: str, good: str,
    accent: str, tick: str, code: str,
) -> dict[Role, Style]:  # fmt: skip
    return {
        "": Style(),
        "strong": Style(bold=True),
        "dim": Style(color=dim),
        "head": Style(color=dim),
        "inference": Style(color=inference),
        "inference.tick": Style(color=tick, bgcolor=inference, bold=True),
        "overhead": Style(color=overhead),
        "tools": Style(color=tools),
        "approval": Style(color=approval),
        "other": Style(color=other),
        "bad": Style(color=bad, bold=True),
        "warn": Style(color=warn),
        "good": Style(color=good),
        "accent": Style(color=accent, bold=True),
        "em": Style(italic=True),
        "title": Style(color=accent, bold=True),
        "quote": Style(color=dim, italic=True),
        "link": Style(color=accent, underline=True),
        "chosen": Style(color=accent, bold=True, reverse=True),
        "code": Style(color=code),
        "code.word": Style(color=approval),
        "code.name": Style(color=accent),
        "code.text": Style(color=tools),
        "code.number": Style(color=overhead),
        "code.note": Style(color=dim, italic=True),
        "added": Style(color=good),
        "removed": Style(color=bad),
        "added.word": Style(color=good, bold=True, underline=True),
        "removed.word": Style(color=bad, bold=True, underline=True),
    }


_DARK = Palette(
    roles=_colours(
        inference="#5aa9ff", overhead="#ff9f40", tools="#62c073", approval="#b48cff", other="#9aa3b2", dim="#9aa3b2",
        bad="#ff7a7a", warn="#e6c34a", good="#62c073", accent="#5aa9ff", tick="#ffffff", code="#e6c34a",
    ),
    cursor=Style(bgcolor="#263245"),
    marked=Style(bgcolor="#242a33"),
    match=Style(bgcolor="#6b5600", color="#ffffff", underline=True),
)  # fmt: skip
_LIGHT = Palette(
    roles=_colours(
        inference="#1763c2", overhead="#a04d00", tools="#1c7434", approval="#7237c9", other="#565f6d", dim="#565f6d",
        bad="#b42323", warn="#7d5f00", good="#1c7434", accent="#1763c2", tick="#ffffff", code="#7d5f00",
    ),
    cursor=Style(bgcolor="#dae8f9"),
    marked=Style(bgcolor="#e8ebee"),
    match=Style(bgcolor="#ffe48a", color="#1f242c", underline=True),
)  # fmt: skip


def _ansi(dim: Style) -> Palette:
    colours = _colours(
        inference="blue", overhead="yellow", tools="green", approval="magenta", other="default", dim="default",
        bad="red", warn="yellow", good="green", accent="cyan", tick="white", code="yellow",
    )  # fmt: skip
    return Palette(
        roles={**colours, "dim": dim, "other": dim, "head": dim},
        cursor=Style(bold=True, underline=True),
        marked=Style(bold=True),
        match=Style(reverse=True, underline=True),
    )


PALETTES: dict[str, Palette] = {
    DARK: _DARK,
    LIGHT: _LIGHT,
    "ansi-dark": _ansi(Style(dim=True)),
    "ansi-light": _ansi(Style(dim=True)),
}


def palette_of(theme: str, dark: bool) -> Palette:
    """The palette of a theme; one of Textual's own gets ours of its brightness."""
    return PALETTES.get(theme) or (_DARK if dark else _LIGHT)
