"""A browser whose network goes away without a word, on a loopback interface of one's own.

`unshare -rn python -m tests.support.web.half_open FOLDER` runs the dashboard, lets a browser follow it, takes the
interface down, and prints `gone S` with the seconds until the hub let the browser go, then `well` if it still serves
once the interface is back.
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import sys
import time
from pathlib import Path

from dashboard.web import server, stream
from tests.support.system.waiting import eventually
from tests.support.web.running import running_site, told

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
UNACKED_MS = 1_000


def loopback(*, up: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = b"lo".ljust(16, b"\0")
        [flags] = struct.unpack_from("H", fcntl.ioctl(control, _SIOCGIFFLAGS, name + bytes(24)), 16)
        flags = flags | _IFF_UP if up else flags & ~_IFF_UP
        fcntl.ioctl(control, _SIOCSIFFLAGS, name + struct.pack("H22x", flags))


async def main(folder: Path) -> None:
    loopback(up=True)
    server.UNACKED_MS, stream.BEAT_S = UNACKED_MS, 0.1
    async with running_site(folder) as site:
        client = site.client(site.secret)
        async with client.stream("GET", "/api/stream") as answer:
            assert answer.status_code == 200
            await anext(told(answer))
            assert site.hub.live.readers == 1
            began = time.monotonic()
            loopback(up=False)
            await eventually(lambda: site.hub.live.readers == 0, UNACKED_MS / 1000 * 20)
            sys.stdout.write(f"gone {time.monotonic() - began:.1f}\n")
            loopback(up=True)
        async with site.client(site.secret) as other:
            health = (await other.get("/api/health")).json()
        if health["writes"] == "ok" and site.parts.streams == {}:
            sys.stdout.write("well\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
