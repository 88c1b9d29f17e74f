"""Text that is no valid Unicode: one rule for every border. Pure.

What comes in is made storable and never refused: bytes that are no UTF-8 and surrogates that stay alone become U+FFFD,
and a character whose two halves come in two pieces is joined. Names of files are kept without loss inside
(surrogateescape); where they leave as JSON or as UTF-8 they follow the same rule.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

REPLACEMENT: Final = "\ufffd"

_NAMES: Final = 0x10FE00
"""Names keep a byte that is no UTF-8 as this plus the byte: a private character, which no real name has."""

_LONE: Final = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
"""An escaped surrogate in JSON; the second group is a whole pair."""


def as_text(data: bytes) -> str:
    """Bytes as text, with U+FFFD for what is no UTF-8."""
    return data.decode("utf-8", "replace")


def sound(text: str) -> str:
    """Text that can be stored and sent: pairs of surrogates joined, U+FFFD for one that stands alone."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_sound(text: str) -> bool:
    """Whether text is Unicode; a name that is not can't be given to libraries that want UTF-8."""
    return sound(text) is text


def sound_json(data: bytes) -> bytes:
    """JSON whose strings are Unicode, otherwise the same."""
    try:
        data.decode()
    except UnicodeDecodeError:
        data = as_text(data).encode()
    if b"\\u" not in data:
        return data
    return _LONE.sub(lambda found: found[1] + (found[2] or b"\\ufffd"), data)


class Joiner:
    """Text that comes in pieces, which may cut a character in two."""

    def __init__(self) -> None:
        self._half = ""

    @property
    def waits(self) -> bool:
        """Whether half a character waits for its other half."""
        return bool(self._half)

    def feed(self, text: str) -> str:
        """The piece, sound; half a character at its end waits for the next one."""
        if not self._half and text.isascii():
            return text
        text = self._half + text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return sound(text)

    def finish(self) -> str:
        """What waits for a half that never came."""
        half, self._half = self._half, ""
        return REPLACEMENT if half else ""


def kept_name(name: str) -> str:
    """A file's name as text that can be stored, without loss; `real_name` gives it back."""
    if name.isascii():
        return name
    return "".join(chr(ord(char) - 0xDC00 + _NAMES) if "\udc80" <= char <= "\udcff" else char for char in name)


def real_name(name: str) -> str:
    """The name that `kept_name` kept."""
    if name.isascii():
        return name
    return "".join(chr(ord(char) - _NAMES + 0xDC00) if 0x80 <= ord(char) - _NAMES <= 0xFF else char for char in name)


def lenient_json(data: bytes) -> Any:
    """What a stranger sends as JSON in UTF-8; what is neither is made readable where that is possible. Raises
    ValueError, also for what is nested too deeply."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        pass
    except RecursionError:
        raise ValueError("nested too deeply") from None
    try:
        return json.loads(as_text(data), strict=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def to_json(value: object) -> bytes:
    """Compact JSON, in which text that is no Unicode is mended (`sound`)."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_sound_value(msgspec.to_builtins(value, builtin_types=(msgspec.Raw,))))


_encoder: Final = msgspec.json.Encoder()


def _sound_value(value: Any) -> Any:
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, dict):
        return {_sound_value(key): _sound_value(each) for key, each in value.items()}
    return [_sound_value(each) for each in value] if isinstance(value, list | tuple) else value
