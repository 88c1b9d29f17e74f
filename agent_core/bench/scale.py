"""How large the measurements are: all of it, or enough to see that they work."""

from __future__ import annotations

import os
from typing import Final

QUICK: Final = "LOOPLINE_BENCH_QUICK"
"""Variable that `loopline bench --quick` sets: fewer and shorter runs, whose figures mean little."""


def quick() -> bool:
    return bool(os.environ.get(QUICK))
