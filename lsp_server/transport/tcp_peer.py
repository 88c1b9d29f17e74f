"""Which user is at the other end of a loopback connection, from the kernel's own table (proc_pid_net(5))."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_MAPPED = "0000000000000000FFFF0000"
"""How a table of IPv6 shows that an address is one of IPv4."""


def peer_uid(peer: tuple[str, int], local: tuple[str, int]) -> int | None:
    """User id of the socket at `peer` that is connected to `local`; None where the system does not tell."""
    wanted = {(_shown(peer, mapped), _shown(local, mapped)) for mapped in (False, True)}
    for table in _TABLES:
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if (fields[1], fields[2]) in wanted:
                return int(fields[7])
    return None


def _shown(address: tuple[str, int], mapped: bool) -> str:
    """As the tables show it: words of 32 bits in the machine's own order."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    data = socket.inet_pton(family, address[0].partition("%")[0])
    words = "".join(f"{word:08X}" for word in struct.unpack(f"={len(data) // 4}I", data))
    return f"{_MAPPED if mapped and family == socket.AF_INET else ''}{words}:{address[1]:04X}"
