"""A hub that keeps the ingest contract, on a real socket: `python -m tests.support.telemetry.hub STORE PORT TOKEN`.

Accepted events go to the file STORE, one line each, on disk before the answer leaves. The file STORE.mode, read at
each request, makes it misbehave: `503`, `429 <Retry-After>`, `drop` (stores, then hangs up without an answer),
`half` (acknowledges half), `html`, `moved`, `400 <event type>` (refuses a batch that has one), `413 <lines>`
(refuses a longer batch).
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, store: Path, port: int, token: str) -> None:
        self.store, self.token = store, token
        self.acked: dict[str, int] = {}
        for line in store.read_text().splitlines() if store.exists() else []:
            event = json.loads(line)
            self.acked[event["source"]] = max(event["seq"], self.acked.get(event["source"], 0))
        super().__init__(("127.0.0.1", port), Handler)

    def mode(self) -> list[str]:
        path = self.store.with_suffix(".mode")
        return path.read_text().split() if path.exists() else []

    def keep(self, events: list[dict[str, Any]]) -> int:
        """Store what is new; the last sequence held of the batch's source."""
        source = events[0]["source"]
        held = self.acked.get(source, 0)
        new = [event for event in events if event["seq"] > held]
        with self.store.open("a") as out:
            for event in new:
                out.write(json.dumps(event) + "\n")
            out.flush()
            os.fsync(out.fileno())
        self.acked[source] = max([held, *(event["seq"] for event in new)])
        return self.acked[source]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece
    server: Hub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        verb, *arguments = self.server.mode() or [""]
        if self.path != "/api/ingest" or "Origin" in self.headers or "Cookie" in self.headers:
            self.answer(404, b"no such place")
        elif self.headers.get("Authorization") != f"Bearer {self.server.token}":
            self.answer(401, b"who are you?")
        elif verb == "503":
            self.answer(503, b"later")
        elif verb == "429":
            self.answer(429, b"slowly", {"Retry-After": arguments[0]})
        elif verb == "html":
            self.answer(200, b"<html>log in to this network</html>")
        elif verb == "moved":
            self.answer(302, b"", {"Location": f"http://127.0.0.1:{self.server.server_port}/elsewhere"})
        else:
            self.ingest(verb, arguments, body)

    def ingest(self, verb: str, arguments: list[str], body: bytes) -> None:
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        events = [json.loads(line) for line in body.splitlines()]
        seqs = [event["seq"] for event in events]
        if len({event["source"] for event in events}) != 1 or seqs != sorted(set(seqs)):
            self.answer(422, b"one source, in order")
        elif verb == "400" and any(event["type"] == arguments[0] for event in events):
            self.answer(400, b"not that")
        elif verb == "413" and len(events) > int(arguments[0]):
            self.answer(413, b"too much")
        elif verb == "half":
            kept = self.server.keep(events[: max(1, len(events) // 2)])
            self.answer(200, json.dumps({"acked": kept}).encode())
        else:
            acked = self.server.keep(events)
            if verb == "drop":
                self.close_connection = True
                return
            self.answer(200, json.dumps({"acked": acked, "also": "fields of later versions"}).encode())

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


if __name__ == "__main__":
    hub = Hub(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    print(hub.server_port, flush=True)
    hub.serve_forever()
