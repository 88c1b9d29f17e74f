"""What a process costs, as the kernel counts it (Linux, proc(5))."""

from __future__ import annotations

import os
from pathlib import Path


def rss_bytes(pid: int | str) -> int:
    """What is resident of it now. `pid` may be "self"."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_s(pid: int) -> float:
    """User and system time that it has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
