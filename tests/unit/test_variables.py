from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.variables import holds_key, variables
from tests.support.system.cli import environment

KEYS = {"OPENAI_API_KEY": "sk-one", "LOOPLINE_API_KEY": "two", "LOOPLINE_API_KEYS": "a=three", "NPM_TOKEN": "four",
        "LOOPLINE_UPSTREAM_KEY": "five", "LOOPLINE_HUB_TOKEN": "six", "LOOPLINE_OIDC_SECRET": "seven",
        "PGPASSWORD": "eight", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=nine"}  # fmt: skip
INSIDE = """
import json, os, subprocess, sys
sys.argv = ["loopline", "config", "--json"]
from agent_core.cli import main
sys.stdout, out = open(os.devnull, "w"), sys.stdout
try:
    main()
except SystemExit:
    pass
from agent_core.variables import variables
shown = open("/proc/self/environ", "rb").read().decode() if os.path.exists("/proc/self/environ") else ""
child = [sys.executable, "-c", "import os; print(os.environ)"]
inherited = subprocess.run(child, capture_output=True, text=True).stdout
print(json.dumps([dict(os.environ), shown, inherited, variables()]), file=out)
"""


def test_after_the_start_of_any_command_no_key_is_in_the_environment(tmp_path: Path) -> None:
    """Neither in ours, nor as the kernel shows it, nor in that of a process that a library would start."""
    env = {**environment(tmp_path), **KEYS, "PLAIN": "ten"}
    done = subprocess.run([sys.executable, "-c", INSIDE], env=env, capture_output=True, text=True, timeout=60)
    ours, shown, inherited, owned = json.loads(done.stdout)
    assert not KEYS.keys() & ours.keys() and ours["PLAIN"] == "ten"
    for text in (shown, inherited):
        assert not [value for value in KEYS.values() if value in text]
    assert "PLAIN" in inherited
    assert {name: owned[name] for name in KEYS} == KEYS, "whoever needs one asks for it"


def test_what_is_handed_out_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "1")
    variables()["SOME_TOKEN"] = "2"
    assert variables()["SOME_TOKEN"] == os.environ["SOME_TOKEN"] == "1"


@pytest.mark.parametrize("name", [*KEYS, "AWS_SECRET_ACCESS_KEY", "gh_token", "DB_PASSWORD", "DENO_AUTH_TOKENS"])
def test_names_of_keys(name: str) -> None:
    assert holds_key(name)


@pytest.mark.parametrize("name", ["PATH", "KEYBOARD", "TOKENIZERS_PARALLELISM", "PYTHONPATH", "LOOPLINE_MODEL"])
def test_other_names(name: str) -> None:
    assert not holds_key(name)
