"""What a process costs, as the kernel counts it (Linux, proc(5)). Raises OSError where the system does not tell."""

from __future__ import annotations

import os
from pathlib import Path


def rss_bytes(pid: int | str = "self") -> int:
    """What is resident of it now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def most_rss_bytes(pid: int | str = "self") -> int:
    """The most that was resident of this program, without what started it (which getrusage includes up to the exec)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/{pid}/status has no VmHWM")


def cpu_s(pid: int | str = "self") -> float:
    """User and system time that it has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
