"""A socket below any WebSocket library, for frames that no library would send."""

from __future__ import annotations

import asyncio
import os
import struct
from urllib.parse import urlsplit

from tests.support.service.running import KEY, TIMEOUT_S, Running


class RawSocket:
    """One upgraded connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, running: Running) -> RawSocket:
        address = urlsplit(running.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        lines = [
            "GET /v1/responses HTTP/1.1",
            f"Host: {address.netloc}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            f"Authorization: Bearer {KEY}",
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        async with asyncio.timeout(TIMEOUT_S):
            head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101"), head
        return cls(reader, writer)

    def send(self, opcode: int, payload: bytes, *, fin: bool = True) -> None:
        mask = os.urandom(4)
        head = bytes([(0x80 if fin else 0) | opcode])
        size = len(payload)
        head += bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + struct.pack("!H", size)
        self.writer.write(head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)))

    async def frame(self) -> tuple[int, bytes]:
        async with asyncio.timeout(TIMEOUT_S):
            first, second = await self.reader.readexactly(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", await self.reader.readexactly(2))
            return first & 0x0F, await self.reader.readexactly(size)

    async def close(self) -> None:
        self.writer.close()
