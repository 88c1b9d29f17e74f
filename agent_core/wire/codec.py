"""Structs to JSON and back; every failure of the decoder leaves here as a WireError."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, TypeGuard, TypeVar

import msgspec
from msgspec import Raw, UnsetType

from agent_core.errors import WireError
from agent_core.wire.unknown import Unknown

T = TypeVar("T")

UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeError)
"""What msgspec raises for what is no JSON, does not fit (a subclass of DecodeError), is too deep or is no UTF-8."""

MAX_DEPTH = 200
"""Levels of nesting that the strict readers let through, so that everyone above can decode without a thought."""

_AT = re.compile(r" - at `(?P<path>[^`]*)`$| - at `key` in `(?P<keys>[^`]*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_DIGITS_ALIKE = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19
"""Nineteen digits in a row, once all digits are made alike: a search for bytes is ten times as fast as a pattern."""
_LEAST_INT, _MOST_INT = -(2**63), 2**64 - 1
_MOST_REASON = 200


def _write_unknown(value: object) -> Raw:
    if isinstance(value, Unknown):
        return value.raw
    raise NotImplementedError(f"no wire form for {type(value).__name__}")


_encoder = msgspec.json.Encoder(enc_hook=_write_unknown)


def encode(value: object) -> bytes:
    """Compact JSON of a struct or of plain values. UNSET and absent optional fields are left out."""
    return _encoder.encode(value)


def to_raw(value: object) -> Raw:
    """`encode` as a `Raw`, for the fields that carry undecoded JSON."""
    return Raw(_encoder.encode(value))


def present(raw: Raw | UnsetType | None) -> TypeGuard[Raw]:
    """Whether a raw field is there and not null."""
    return isinstance(raw, Raw) and bytes(raw) != b"null"


def plain(raw: Raw | bytes, path: str = "") -> Any:
    """Raw JSON as dicts, lists and scalars. Raises WireError with `path` as its param."""
    return read(raw, Any, path)


def read(raw: Raw | bytes | str, kind: type[T] | Any, path: str = "") -> T:
    """Decode as `kind`. Raises WireError whose param is `path` plus the path inside."""
    try:
        return decoder(kind).decode(raw)  # type: ignore[no-any-return, arg-type]
    except UNREADABLE as exc:
        raise misfit(exc, path) from exc


@cache
def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """The one decoder of a type; made when first asked for, as the big unions take milliseconds."""
    return msgspec.json.Decoder(kind)


def require_sound(raw: Raw | bytes, path: str) -> None:
    """Raises WireError unless the whole value can be decoded, walked by recursion and encoded again.

    A typed view leaves unknown and raw fields unread; this looks at them too: strings must be Unicode, integers fit 64
    bits, nesting stays within MAX_DEPTH.
    """
    value = plain(raw, path)
    data = bytes(raw)
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH and _LONG_NUMBER not in data.translate(_DIGITS_ALIKE):
        return
    level, depth = [value], 0
    while level:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict | list):
                if depth == MAX_DEPTH:
                    raise WireError(f"{path} is nested too deeply.", param=path)
                inner.extend(one.values() if isinstance(one, dict) else one)
            elif isinstance(one, int) and not _LEAST_INT <= one <= _MOST_INT:
                raise WireError(f"{path} holds a number that is out of range.", param=path)
        level, depth = inner, depth + 1


def misfit(exc: Exception, path: str = "") -> WireError:
    """The WireError for a decoder's exception: `invalid_request` with the field's path, `invalid_json` for no JSON."""
    text = str(exc)
    if not isinstance(exc, msgspec.ValidationError):
        reason = "nested too deeply" if isinstance(exc, RecursionError) else "not valid JSON in UTF-8"
        return WireError(
            f"{path or 'The body'} is {reason}.", code=None if path else "invalid_json", param=path or None
        )
    param = (path + inner_path(text)).lstrip(".")
    reason = _AT.sub("", text)[:_MOST_REASON]  # it may quote what the peer sent
    return WireError(f"Invalid value for {param or 'the body'}: {reason}.", param=param or None)


def inner_path(text: str) -> str:
    """The path of the misfit below the decoded value, such as `.content[0].text`; "" for the value itself.

    The one place that reads an exception's text: msgspec states the path nowhere else. A missing field counts as the
    place. msgspec does not name the keys of free-form objects (`[...]`): there the path ends at the object.
    """
    at = _AT.search(text)
    path = (at["path"] or at["keys"]) if at else "$"
    missing = _MISSING.match(text)
    if missing:
        path += f".{missing['field']}"
    return path.removeprefix("$").split("[...]", 1)[0]
