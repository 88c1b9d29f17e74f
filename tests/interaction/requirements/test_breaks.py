"""A test that could not fail would prove nothing: with a rule broken by its switch, a test that names it fails."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.interaction.requirements.breaks import BREAKS, VARIABLE
from tests.interaction.requirements.manifest import ROOT, RULES, named_by

ENOUGH = 20
PLUGIN = "tests.interaction.requirements.breaks"


def run_broken(rule: str) -> tuple[int, str]:
    """Exit code and output of the tests of the service that name a rule, with the rule broken."""
    tests = [test.id for test in named_by()[rule] if "/service/" in test.path]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        PLUGIN,
        "-p",
        "no:cacheprovider",
        "--timeout=60",
        *tests,
    ]
    env = {**os.environ, VARIABLE: rule}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=110)
    return done.returncode, done.stdout[-3000:]


def test_enough_rules_can_be_broken() -> None:
    assert set(BREAKS) <= set(RULES)
    assert len(BREAKS) >= ENOUGH


@pytest.mark.soak
@pytest.mark.parametrize("rule", BREAKS)
def test_a_broken_rule_is_noticed(rule: str) -> None:
    """Exit code 1: tests ran and some failed. That they pass with the rule in force is shown by every other run."""
    code, said = run_broken(rule)
    assert code == 1, said
    assert "failed" in said.splitlines()[-1]
    noticed = next(line for line in said.splitlines() if line.startswith("FAILED"))
    print(f"{rule}: noticed by {noticed.removeprefix('FAILED ').partition(' - ')[0]}")
