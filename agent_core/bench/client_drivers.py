"""Clients that work through the conversation of `client_service`: a minimal one, and the whole agent.

Run as `python -m agent_core.bench.client_drivers minimal|agent PORT FOLDER HISTORY_BYTES HISTORY_ITEMS`. Prints what it
cost, as JSON.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from pathlib import Path

import msgspec

from agent_core.bench.client_service import READ_FILE
from agent_core.process_cost import most_rss_bytes
from agent_core.variables import variables

INSTRUCTIONS = "x" * 2_000


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """`cpu_s` of the conversation, without the start-up before it; `rss_mb` is the most that was resident."""

    cpu_s: float
    start_cpu_s: float
    rss_mb: float


def history_items(size: int, count: int) -> list[bytes]:
    """User messages of `size` bytes of text together."""
    text = "word " * (size // count // 5)
    content = [{"type": "input_text", "text": text}]
    return [msgspec.json.encode({"type": "message", "role": "user", "content": content})] * count


class _Item(msgspec.Struct):
    type: str = ""
    call_id: str = ""


class _Response(msgspec.Struct):
    id: str = ""


class _Event(msgspec.Struct):
    type: str
    delta: str = ""
    item: _Item | None = None
    response: _Response | None = None


async def minimal(port: int, folder: Path, items: list[bytes]) -> float:
    """websockets and msgspec, deltas only, no log and no rules: the floor. Gives the CPU seconds of the start."""
    from websockets.asyncio.client import connect

    decode = msgspec.json.Decoder(_Event).decode
    fields = msgspec.json.encode({"model": "bench", "instructions": INSTRUCTIONS, "tools": [], "store": False})[1:-1]
    previous, new = "", items
    async with connect(f"ws://127.0.0.1:{port}/v1/responses", compression=None, max_size=None) as socket:
        started_s = time.process_time()
        while new:
            chained = b'"previous_response_id":"%b",' % previous.encode() if previous else b""
            body = b'{"type":"response.create",%b,%b"input":[%b]}' % (fields, chained, b",".join(new))
            await socket.send(body, text=True)
            new = []
            while True:
                event = decode(await socket.recv(decode=False))
                if event.type == "response.output_item.done" and event.item and event.item.type == "function_call":
                    text = (folder / READ_FILE).read_text()
                    output = {"type": "function_call_output", "call_id": event.item.call_id, "output": text}
                    new.append(msgspec.json.encode(output))
                elif event.type == "response.completed":
                    previous = event.response.id if event.response else ""
                    break
    return started_s


async def agent(port: int, folder: Path, items: list[bytes]) -> float:
    """The hosted session as `loopline run` has it: history on disk, journal, control socket, tools; nothing drawn.
    Gives the CPU seconds of the start."""
    from agent_core.agent.history import History, SessionHeader
    from agent_core.config.paths import state_dir
    from agent_core.hosting.session import HostOptions, host_session

    home = folder / "home"
    env = {"PATH": variables().get("PATH", ""), "HOME": str(home), "OPENAI_API_KEY": "bench"}
    env |= {f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "STATE", "CACHE")}
    env["XDG_RUNTIME_DIR"] = str(home / "run")
    header = SessionHeader(id="sess_bench", created="", roots=(str(folder),), model="bench")
    history = History.create(state_dir(env) / "sessions", header)
    history.append(items)
    history.close()
    flags = {"base_url": f"http://127.0.0.1:{port}/v1", "model": "bench", "approve": "auto", "max_calls": 0}
    options = HostOptions(roots=(folder,), client="bench", flags=flags, resume=header.id, env=env)
    async with host_session(options) as hosted:
        started_s = time.process_time()
        outcome = await hosted.session.run_turn("go on")
        if outcome.error is not None:
            raise outcome.error
    return started_s


def _most_resident_mb() -> float:
    try:
        return most_rss_bytes() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    name, port, folder, size, count = sys.argv[1:]
    items = history_items(int(size), int(count))
    work = agent if name == "agent" else minimal
    started_s = asyncio.run(work(int(port), Path(folder), items))
    cost = Cost(cpu_s=time.process_time() - started_s, start_cpu_s=started_s, rss_mb=_most_resident_mb())
    sys.stdout.write(msgspec.json.encode(cost).decode() + "\n")


if __name__ == "__main__":
    main()
