"""Texts that a terminal would obey, and a look at bytes for anything of them that came through."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

MARK = "66"
"""Stands in each escape sequence, so that it is told from those that a front end draws with."""

HOSTILE: Mapping[str, str] = {
    "colour": f"a\x1b[{MARK}mb",
    "clear": f"a\x1b[2;{MARK}Jb",
    "title": "a\x1b]0;evil\x07b",
    "clipboard": "a\x1b]52;c;ZXZpbA==\x1b\\b",
    "link": "a\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\b",
    "device": "a\x1bP0;evil\x1b\\b",
    "reset": "a\x1bcb",
    "c1": f"a\x9b{MARK}mb\x9d0;evil\x9cb\x90evil\x9c",
    "cut": "a\x1b",
    "overwrite": "safe command\rdangerous",
    "backspace": "abc\b\b\bxyz",
    "bell": "a\ab",
    "nul": "a\0b",
    "bidi": "a\u202eb\u202d\u2066c\u2067\u2068\u2069\u200e\u200f\u061c",
    "invisible": "a\u200bb\u2060\ufeff\u00ad\U000e0041",
    "lines": "a\u2028b\u2029c\x0bd\x0ce\x85f",
    "surrogate": "a\udcffb\ud800",
    "markup": "[bold red]a[/] [link=http://evil]b[/link] [/nothing] :skull:",
    "long": "x" * 20_000,
}
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_OWN = re.compile(r"\x1b\[(?!(?:\d+;)*" + MARK + r"[mJ])[0-9;?]*[A-Za-z]")
"""Colours and cursor movements, as front ends draw them."""


def trouble(output: bytes, *, draws: bool = False) -> list[str]:
    """What in the bytes a terminal would obey. `draws`: colours and cursor movements of the front end are no trouble,
    nor is the carriage return with which it redraws a line."""
    text = output.decode("utf-8", "backslashreplace")
    if draws:
        text = _OWN.sub("", text).replace("\r", "")
    found = [f"{text[max(0, each.start() - 20) : each.end() + 20]!r}" for each in _FORBIDDEN.finditer(text)]
    found += [f"{char!r}" for char in ("\x1b", "\r") if char in text.replace("\r\n", "\n")]
    return found[:5]


def filled(kind: Any, text: str) -> Any:
    """A value of a type with `text` in every place where a text may be."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (str, Any, object):
        return text
    if kind in (int, float, bool):
        return kind(1)
    if kind is NoneType:
        return None
    if kind is bytes:
        return text.encode("utf-8", "surrogatepass")
    if kind is msgspec.Raw:
        return msgspec.Raw(msgspec.json.encode(text.encode("utf-8", "replace").decode()))
    if origin is Literal:
        return arguments[0]
    if origin in (Union, UnionType):
        return filled(arguments[0], text)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind(**{field.name: filled(field.type, text) for field in msgspec.structs.fields(kind)})
    if origin in (tuple, list, Sequence, frozenset, set):
        given = filled(arguments[0], text)
        return [given] if origin is list else frozenset([given]) if origin in (frozenset, set) else (given,)
    if origin in (dict, Mapping):
        return {filled(arguments[0], text): filled(arguments[1], text)}
    if hasattr(kind, "__supertype__"):
        return filled(kind.__supertype__, text)
    raise NotImplementedError(kind)
