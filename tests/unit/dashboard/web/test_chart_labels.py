"""The ticks of an axis read differently from each other, whatever lies on it. Run by node, as browsers run it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import dashboard.web
from tests.support.suite.parts import program

CHARTS = Path(dashboard.web.__file__).parent / "static" / "js" / "charts.js"


def told(function: str, *arguments: object) -> list[str]:
    script = f"import {{ {function} }} from {json.dumps(CHARTS.as_uri())};"
    script += f"console.log(JSON.stringify({function}(...{json.dumps(arguments)})));"
    done = subprocess.run(
        [program("node"), "--input-type=module", "-e", script], capture_output=True, text=True, timeout=30,
        env={"TZ": "UTC", "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("unit", "ticks", "texts"),
    [
        ("share", [0, 0.001, 0.002], ["0 %", "0.1 %", "0.2 %"]),
        ("usd", [0, 0.00005, 0.0001], ["$0", "$0.00005", "$0.00010"]),
        ("usd", [0, 0.5, 1], ["$0", "$0.50", "$1.00"]),
        ("ms", [0, 0.25, 0.5], ["0 ms", "0.25 ms", "0.50 ms"]),
        ("ms", [0, 500, 1000], ["0 s", "0.5 s", "1.0 s"]),
        ("count", [0, 20_000, 40_000], ["0", "20,000", "40,000"]),
        ("count", [0, 500_000_000_000, 1_000_000_000_000], ["0 tn", "0.5 tn", "1.0 tn"]),
        ("count", [0, 2_000_000_000], ["0 bn", "2 bn"]),
        ("count", [-5_000_000_000, 0], ["-5 bn", "0 bn"]),
        ("count", [0, 5e18], ["0e15", "5,000e15"]),
        ("rate", [0, 20_000_000], ["0 M tok/s", "20 M tok/s"]),
        ("rate", [1000, 1000.5], ["1,000.0 tok/s", "1,000.5 tok/s"]),
    ],
)
def test_ticks_are_told_apart(unit: str, ticks: list[float], texts: list[str]) -> None:
    assert told("labels", unit, ticks) == texts


def test_instants_are_told_apart() -> None:
    hours = [1_796_083_200 + hour * 12 * 3_600 for hour in range(5)]
    assert len(set(told("instants", hours))) == 5
    years = [1_796_083_200 + number * 366 * 86_400 for number in range(3)]
    assert len(set(told("instants", years))) == 3
