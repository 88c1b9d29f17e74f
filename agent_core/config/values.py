"""Values of settings as a file or a variable gives them: each function makes one, or raises ValueError."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value.strip()


def choice(options: tuple[str, ...]) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in options:
            raise ValueError
        return str(value)

    return parse


def count(value: Any) -> int:
    if isinstance(value, (bool, float)):
        raise ValueError
    number = int(value)
    if number < 0:
        raise ValueError
    return number


def url(value: Any) -> str:
    address = text(value)
    if not address.startswith(("http://", "https://", "ws://", "wss://")):
        raise ValueError
    return address.rstrip("/")


def texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise ValueError
    return tuple(text(entry) for entry in value)


def number(low: float, high: float) -> Callable[[Any], float]:
    """From `low` to `high`, both included."""

    def parse(value: Any) -> float:
        if isinstance(value, bool):
            raise ValueError
        given = float(value)
        if not low <= given <= high:
            raise ValueError
        return given

    return parse


def switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def numbers_of(names: Collection[str]) -> Callable[[Any], Mapping[str, float]]:
    """A table of numbers, 0 or more, for some of `names`."""
    parse_one = number(0, 1e9)

    def parse(value: Any) -> Mapping[str, float]:
        if not isinstance(value, dict) or not set(value) <= set(names):
            raise ValueError
        return {key: parse_one(entry) for key, entry in value.items()}

    return parse


def tables(value: Any) -> Mapping[str, Mapping[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise ValueError
    return value
