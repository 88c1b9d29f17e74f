"""How large the parts of a request may be: bounds on the work that they make, beside those on bytes.

Each is far above what clients send and far below what would hold up a service: what passes can be read, walked and
rendered in time that its neighbours do not notice. A request above one is refused with the field's path. What each
costs is measured by `tests/interaction/service/test_extremes.py`. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agent_core.errors import WireError

MAX_ITEMS: Final = 50_000
"""Input items of one request. A session of days has some thousands."""
MAX_ITEM_BYTES: Final = 48 * 1024 * 1024
"""Of one input item, or of an input that is a string: it is read at once."""
MAX_TEXT: Final = 16 * 1024 * 1024
"""Characters of the instructions."""
MAX_PARTS: Final = 2_000
"""Content parts of one item."""
MAX_REFERENCES: Final = 1_000
"""Items of one request that only name a stored one; each is looked up."""
MAX_TOOLS: Final = 1_024
"""Definitions in one list, those within namespaces included (the vendor takes 128)."""
MAX_TOOL_BYTES: Final = 2 * 1024 * 1024
"""Of one list."""
MAX_SHORT: Final = 1_024
"""Characters of a name, an id or a key."""
MAX_ENTRIES: Final = 256
"""Of a small list or mapping."""

MAX_SCHEMA_NODES: Final = 20_000
"""Values within one JSON Schema."""
MAX_SCHEMA_COUNT: Final = 100_000
"""Of a keyword that demands at least so many items, characters or properties: nobody can make more."""
MAX_PATTERN: Final = 4_096
"""Characters of a regular expression in a schema."""
MAX_GRAMMAR: Final = 16 * 1024
"""Characters of a grammar."""

FIELD_BYTES: Final[Mapping[str, int]] = {
    "input": 1 << 40,
    "tools": MAX_TOOL_BYTES,
    "text": 1024 * 1024,
}
"""Of fields that hold JSON; `input` is bounded by its message, and by its items."""
OTHER_FIELD_BYTES: Final = 128 * 1024

SHORT_FIELDS: Final = (
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "truncation",
    "user",
)
LISTED_FIELDS: Final = ("include", "metadata")

_AT_LEAST = ("minItems", "minLength", "minProperties", "minContains")
_PATTERNS = ("pattern",)


def require_small(name: str, raw: bytes) -> None:
    """Raises WireError for a field of JSON that is too large to be looked into."""
    most = FIELD_BYTES.get(name, OTHER_FIELD_BYTES)
    if len(raw) > most:
        raise WireError(f"{name} is longer than {most} bytes.", param=name)


def require_short(name: str, value: str | None) -> None:
    """Raises WireError for a name, an id or a key that is too long."""
    if value is not None and len(value) > MAX_SHORT:
        raise WireError(f"{name} is longer than {MAX_SHORT} characters.", param=name)


def require_text(name: str, value: str | None) -> None:
    """Raises WireError for a text that is too long to go out with every response."""
    if value is not None and len(value) > MAX_TEXT:
        raise WireError(f"{name} is longer than {MAX_TEXT} characters.", param=name)


def require_item(path: str, size: int) -> None:
    """Raises WireError for an item of so many bytes that reading it would hold up others."""
    if size > MAX_ITEM_BYTES:
        raise WireError(f"{path} is longer than {MAX_ITEM_BYTES} bytes; send it in several items.", param=path)


def require_few(path: str, count: int, most: int, what: str) -> None:
    """Raises WireError for more than `most` of something."""
    if count > most:
        raise WireError(f"{path} holds {count} {what}; at most {most} are taken.", param=path)


def require_modest(schema: Any, path: str) -> None:
    """Raises WireError for a JSON Schema that is too large, or that demands what nobody could make."""
    level, seen = [schema], 0
    while level:
        seen += len(level)
        if seen > MAX_SCHEMA_NODES:
            raise WireError(f"{path} holds more than {MAX_SCHEMA_NODES} values.", param=path)
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                _check_keywords(one, path)
                inner.extend(one.values())
            elif isinstance(one, list):
                inner.extend(one)
        level = inner


def _check_keywords(schema: dict[str, Any], path: str) -> None:
    for word in _AT_LEAST:
        value = schema.get(word)
        if isinstance(value, int | float) and value > MAX_SCHEMA_COUNT:
            raise WireError(f"{path}: {word} is above {MAX_SCHEMA_COUNT}; no model could make that.", param=path)
    for word in _PATTERNS:
        value = schema.get(word)
        if isinstance(value, str) and len(value) > MAX_PATTERN:
            raise WireError(f"{path}: {word} is longer than {MAX_PATTERN} characters.", param=path)
    properties = schema.get("patternProperties")
    if isinstance(properties, dict) and any(len(key) > MAX_PATTERN for key in properties):
        raise WireError(f"{path}: a pattern is longer than {MAX_PATTERN} characters.", param=path)
