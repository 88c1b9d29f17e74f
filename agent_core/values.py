"""Values of settings as a file or a variable gives them: each function makes one, or raises ValueError."""

from __future__ import annotations

from collections.abc import Callable
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
