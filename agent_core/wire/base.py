"""What every wire struct shares: optional fields are left out when absent, required ones are always written."""

from __future__ import annotations

from typing import Any

import msgspec


class Wire(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Root of all wire structs. `None` and UNSET mean "absent" and are not written."""


def zero() -> int:
    """Default of `sequence_number`: a factory, so that the field is written although it has a default."""
    return 0


def empty_list() -> list[Any]:
    """Default of lists that may be missing when read but must be there when written."""
    return []
