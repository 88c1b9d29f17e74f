"""Coalescing over a real socket pair: one write per turn of the loop, in order, nothing lost at the end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from agent_core.responses_server.process.coalescing import MAX_HELD_BYTES, CoalescingTransport


class Ends:
    """A wrapped transport and the other end of its socket."""

    def __init__(self, transport: CoalescingTransport, peer: socket.socket) -> None:
        self.transport, self.peer = transport, peer

    async def receive(self) -> bytes:
        async with asyncio.timeout(10):
            return await asyncio.get_running_loop().sock_recv(self.peer, 1 << 20)


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    ours, peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    peer.setblocking(False)
    ours.setblocking(False)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(asyncio.Protocol, sock=_as_stream(ours))
    yield Ends(CoalescingTransport(transport, loop), peer)
    transport.abort()
    peer.close()
    await asyncio.sleep(0)


def _as_stream(sock: socket.socket) -> socket.socket:
    """asyncio wants SOCK_STREAM; a packet socket keeps the borders of writes, which is what is looked at here."""
    return _Stream(sock.family, socket.SOCK_SEQPACKET, 0, sock.detach())


class _Stream(socket.socket):
    @property
    def type(self) -> socket.SocketKind:
        return socket.SOCK_STREAM


async def test_frames_of_one_turn_leave_in_one_write(ends: Ends) -> None:
    for data in (b"one ", b"", b"two ", b"three"):
        ends.transport.write(data)
    assert await ends.receive() == b"one two three"
    ends.transport.write(b"four")
    assert await ends.receive() == b"four"


async def test_what_is_much_leaves_at_once(ends: Ends) -> None:
    ends.transport.write(b"first ")
    ends.transport.write(b"x" * MAX_HELD_BYTES)
    assert ends.peer.recv(1 << 20) == b"first " + b"x" * MAX_HELD_BYTES


async def test_close_sends_what_is_held(ends: Ends) -> None:
    ends.transport.write(b"the end")
    ends.transport.close()
    assert await ends.receive() == b"the end"
    assert ends.transport.is_closing()
    assert await ends.receive() == b""
