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
"""What msgspec raises for text that is no JSON, is nested too deep, or is no UTF-8. ValidationError is a DecodeError."""

_AT = re.compile(r" - at `(?P<path>[^`]*)`$|- at `key` in `(?P<keys>[^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `(?P<field>[^`]+)`")


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
        return _decoder(kind).decode(raw)  # type: ignore[no-any-return, arg-type]
    except UNREADABLE as exc:
        raise misfit(exc, path) from exc


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def misfit(exc: Exception, path: str = "") -> WireError:
    """The WireError for a decoder's exception: `invalid_request` with the field's path, or `invalid_json`."""
    if isinstance(exc, RecursionError):
        return WireError(
            f"{path or 'The body'} is nested too deeply.", code="invalid_json" if not path else None, param=path or None
        )
    if not isinstance(exc, msgspec.ValidationError):
        code = "invalid_json" if not path else None
        return WireError(f"{path or 'The body'} is not valid JSON in UTF-8.", code=code, param=path or None)
    text = str(exc)
    inner = inner_path(text)
    param = f"{path}{inner}" if path else inner.lstrip(".")
    reason = _AT.sub("", text).rstrip()
    return WireError(f"Invalid value for {param or 'the body'}: {reason}.", param=param or None)


def inner_path(text: str) -> str:
    """The path of the misfit below the decoded value, such as `.content[0].text`; "" for the value itself.

    The one place that reads an exception's text: msgspec gives the path nowhere else. A missing field counts as the
    place; keys of free-form objects and values of `Any` are not named by msgspec (`[...]`), there the path ends early.
    """
    at = _AT.search(text)
    path = (at["path"] or at["keys"] or "$") if at else "$"
    missing = _MISSING.match(text)
    if missing and "[...]" not in path:
        path += f".{missing['field']}"
    return path.removeprefix("$").split("[...]", 1)[0]
