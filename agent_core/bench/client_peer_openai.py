"""openai-python through the conversation of `client_service`, over its WebSocket with deltas.

A script for another environment than ours (`.cache/clients/openai`), so it imports nothing of Loopline. Run as
`PYTHON client_peer_openai.py PORT FOLDER HISTORY_BYTES HISTORY_ITEMS`. Prints what it cost, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

READ_FILE = "two_kb.txt"


async def converse(port: int, folder: Path, size: int, count: int) -> float:
    """Gives the CPU seconds of the start."""
    from openai import AsyncOpenAI  # type: ignore[import-not-found, unused-ignore]  # of that environment, not of ours

    text = "word " * (size // count // 5)
    new: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]} for _ in range(count)
    ]
    client = AsyncOpenAI(api_key="bench", base_url=f"http://127.0.0.1:{port}/v1")
    fields: dict[str, Any] = {"model": "bench", "instructions": "x" * 2_000, "tools": [], "store": False}
    async with client.responses.connect() as connection:
        started_s = time.process_time()
        while new:
            await connection.response.create(**fields, input=new)
            new = []
            async for event in connection:
                if event.type == "response.output_item.done" and event.item.type == "function_call":
                    output = (folder / READ_FILE).read_text()
                    new.append({"type": "function_call_output", "call_id": event.item.call_id, "output": output})
                elif event.type == "response.completed":
                    fields["previous_response_id"] = event.response.id
                    break
    return started_s


def main() -> None:
    port, folder, size, count = sys.argv[1:]
    started_s = asyncio.run(converse(int(port), Path(folder), int(size), int(count)))
    status = Path("/proc/self/status").read_text().splitlines()
    most_mb = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))
    cost = {"cpu_s": time.process_time() - started_s, "start_cpu_s": started_s, "rss_mb": most_mb}
    sys.stdout.write(json.dumps(cost) + "\n")


if __name__ == "__main__":
    main()
