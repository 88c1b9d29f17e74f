"""Copies of the demo's sample with another bug in place of the shipped one."""

from __future__ import annotations

from pathlib import Path

from agent_core.demo.sample import copy_to

SHIPPED = ("inventory/stock.py", "while low < high:\n            middle = (low + high) // 2\n            line")

OTHER_BUGS: dict[str, tuple[str, str, str]] = {
    "comparison": ("inventory/stock.py", "if quantity > free:", "if quantity >= free:"),
    "wrong_bound": ("inventory/stock.py", "len(self._lines) - 1\n", "len(self._lines) - 2\n"),
    "operator": (
        "inventory/money.py",
        "return Money(self.cents - other.cents)",
        "return Money(self.cents + other.cents)",
    ),
    "boundary_of_a_tier": ("inventory/pricing.py", "if quantity >= minimum:", "if quantity > minimum:"),
    "inverted_guard": ("inventory/orders.py", "if not order.lines:", "if order.lines:"),
    "wrong_call": ("inventory/catalog.py", "if all(word in", "if any(word in"),
}


def sound_copy(folder: Path) -> Path:
    """The sample without its bug."""
    copy_to(folder)
    file, text = SHIPPED
    return _replaced(folder, file, text, text.replace("low < high", "low <= high"))


def copy_with(folder: Path, bug: str) -> Path:
    """The sample with the bug `bug` of `OTHER_BUGS` instead of its own."""
    return _replaced(sound_copy(folder), *OTHER_BUGS[bug])


def _replaced(folder: Path, file: str, old: str, new: str) -> Path:
    path = folder / file
    source = path.read_text(encoding="utf-8")
    assert source.count(old) == 1, (file, old, source.count(old))
    path.write_text(source.replace(old, new), encoding="utf-8")
    return folder
