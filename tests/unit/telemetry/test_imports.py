"""What importing telemetry loads, seen from a clean interpreter: the static contracts can't tell lazy from eager."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "kept_out"),
    [
        ("rollup.rollup", "asyncio sqlite3 socket threading random httpx opentelemetry"),
        ("rollup.stages", "asyncio sqlite3 socket threading random"),
        ("journal.sink", "httpx opentelemetry ssl"),
        ("journal.reader", "httpx opentelemetry ssl asyncio"),
        ("hub.shipper", "httpx opentelemetry"),
        ("export.files", "pyarrow httpx opentelemetry"),
        ("export.otel", "opentelemetry httpx sqlite3"),
    ],
)
def test_importing_loads_no_more_than_it_must(module: str, kept_out: str) -> None:
    program = (
        f"import sys, agent_core.telemetry.{module}\n"
        f"print(*[name for name in '{kept_out}'.split() if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout.split() == []
