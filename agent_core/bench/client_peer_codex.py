"""Codex through the conversation of `client_service`, over its WebSocket: a plan instead of a read, so that no process
of its tools is measured.

Run as `python -m agent_core.bench.client_peer_codex PORT FOLDER HISTORY_BYTES HISTORY_ITEMS`; the history is one task
of that many bytes. Prints what it cost, as JSON: CPU and memory of the whole program, its start included.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from agent_core import launch
from agent_core.bench.client_drivers import Cost
from agent_core.variables import variables

CLIENTS = Path(".cache/clients/codex/node_modules/@openai")
CONFIG = """model = "bench"
model_provider = "bench"
[model_providers.bench]
name = "Bench"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "BENCH_KEY"
wire_api = "responses"
supports_websockets = true
"""


def binary() -> Path | None:
    """The program itself, without its launcher in JavaScript; None where Codex is not installed."""
    return next(iter(sorted(CLIENTS.glob("codex-*/vendor/*/bin/codex"))), None)


def converse(program: Path, port: int, folder: Path, size: int) -> Cost:
    home = folder / "codex"
    home.mkdir()
    (home / "config.toml").write_text(CONFIG.format(port=port), encoding="utf-8")
    env = {"PATH": variables().get("PATH", ""), "HOME": str(folder), "CODEX_HOME": str(home), "BENCH_KEY": "bench"}
    command = [
        *(str(program.resolve()), "exec", "--json", "--skip-git-repo-check"),
        *("--dangerously-bypass-approvals-and-sandbox", "-C", str(folder), "-"),
    ]
    nowhere = subprocess.DEVNULL
    process = launch.popen(command, environment=env, cwd=folder, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere)
    assert process.stdin is not None
    with process.stdin:
        process.stdin.write(("word " * (size // 5)).encode())
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"codex ended with {process.returncode}")
    return Cost(cpu_s=used.ru_utime + used.ru_stime, start_cpu_s=0.0, rss_mb=used.ru_maxrss / 1024)


def main() -> None:
    port, folder, size, _ = sys.argv[1:]
    program = binary()
    if program is None:
        raise SystemExit(f"no Codex under {CLIENTS}")
    sys.stdout.write(msgspec.json.encode(converse(program, int(port), Path(folder), int(size))).decode() + "\n")


if __name__ == "__main__":
    main()
