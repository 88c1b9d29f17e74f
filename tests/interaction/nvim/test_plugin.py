"""The plugin as files: its pure modules by their own tests in the editor's Lua, its help page, types and form."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from agent_core.telemetry import display
from lsp_server.protocol import methods
from lsp_server.settings import resolve
from tests.support.editors.nvim import CACHE, PLUGIN, ROOT, STYLUA, nvim, run_lua
from tests.support.suite.parts import lacking, program

UNIT = Path(__file__).parent / "unit"
MAX_LINES = 400


@pytest.mark.parametrize("name", sorted(path.stem for path in UNIT.glob("*_test.lua")))
def test_pure_modules(name: str) -> None:
    done = run_lua(UNIT / "run.lua", str(UNIT / f"{name}.lua"))
    assert done.returncode == 0, done.stderr


def test_the_help_page_is_what_the_definitions_say() -> None:
    done = run_lua(PLUGIN / "scripts" / "doc.lua", "--check")
    assert done.returncode == 0, done.stderr


def test_the_help_page_has_tags_and_each_once(tmp_path: Path) -> None:
    (tmp_path / "doc").mkdir()
    (tmp_path / "doc" / "loopline.txt").write_bytes((PLUGIN / "doc" / "loopline.txt").read_bytes())
    script = tmp_path / "tags.lua"
    script.write_text(f"vim.cmd.helptags({json.dumps(str(tmp_path / 'doc'))})")
    done = run_lua(script)
    assert done.returncode == 0, done.stderr
    tags = (tmp_path / "doc" / "tags").read_text()
    assert ":Loopline-start\t" in tags and "loopline-option-cmd\t" in tags


def test_the_types_are_those_of_the_protocol() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lsp_server.protocol.schema", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    generated = (PLUGIN / "lua" / "loopline" / "protocol.lua").read_text()
    assert f"VERSION = {methods.VERSION}," in generated


def test_the_settings_of_the_server_that_the_help_page_names_exist() -> None:
    text = (PLUGIN / "doc" / "loopline.txt").read_text()
    section = text.split("*loopline-server-settings*")[1].split("====")[0]
    named = set(re.findall(r"`(\w+)`", section)) - {"server"}
    given: dict[str, object] = {"approve": "ask", "trusted": [], "deny": [], "transport": "auto", "python": "python3"}
    options = {name: given.get(name, "x") for name in named}
    assert len(named) > 10
    assert [
        problem for problem in resolve(options, None, {}, users_own=True).problems if "not a setting" in problem
    ] == []


def test_every_method_that_is_used_is_one_of_the_protocol() -> None:
    code = "\n".join(path.read_text() for path in _sources() if path.name not in ("protocol.lua", "doc.lua"))
    known = {method.name for table in (methods.COMMANDS, methods.REQUESTS, methods.NOTIFICATIONS,
             methods.CLIENT_REQUESTS, methods.CLIENT_NOTIFICATIONS) for method in table}  # fmt: skip
    used = set(
        re.findall(r'"((?:\$/)?loopline/[\w.]+|loopline\.(?:turn|session|approval|model|dashboard)\.\w+)"', code)
    )
    assert len(used) > 15
    assert used - known == set()


def test_numbers_read_the_same_as_everywhere_else(tmp_path: Path) -> None:
    values = [None, 0, 0.004, 0.04, 0.6, 0.994, 0.996, 1, 4.1, 9.94, 9.96, 410.2, 999.4, 999.6, 2351, 59_994, 187_000,
              7_500_000]  # fmt: skip
    script = tmp_path / "numbers.lua"
    script.write_text(
        f"local text, out = require('loopline.text'), {{}}\n"
        f"for _, value in ipairs(vim.json.decode({json.dumps(json.dumps(values))})) do\n"
        "  value = value ~= vim.NIL and value or nil\n"
        "  out[#out + 1] = { text.duration(value), text.percent(value), text.rate(value), text.number(value) }\n"
        "end\n"
        "io.stdout:write(vim.json.encode(out))\n"
    )
    done = run_lua(script)
    assert done.returncode == 0, done.stderr
    told = [[display.duration(value), display.percent(value), display.rate(value), display.number(value)]
            for value in values]  # fmt: skip
    assert json.loads(done.stdout) == told


def test_files_are_short_and_lua_understands_them(tmp_path: Path) -> None:
    script = tmp_path / "parse.lua"
    script.write_text("for _, file in ipairs(arg) do assert(loadfile(file)) end")
    done = run_lua(script, *map(str, _sources()))
    assert done.returncode == 0, done.stderr
    long = [
        path.name for path in _sources() if path.read_text().count("\n") > MAX_LINES and path.name != "protocol.lua"
    ]
    assert long == []


def test_the_archive_is_a_package_for_the_editor(tmp_path: Path) -> None:
    archive, start = tmp_path / "x-nvim.tar.gz", tmp_path / "pack" / "loopline" / "start"
    subprocess.run([sys.executable, "extensions/package.py", "nvim", str(archive)], cwd=ROOT, timeout=60, check=True)
    start.mkdir(parents=True)
    with tarfile.open(archive) as files:
        files.extractall(start, filter="data")
    asked = ["exists(':Loopline')", "len(nvim_get_runtime_file('lsp/loopline.lua', v:true))"]
    asked += ["len(getcompletion('loopline-opt', 'help'))"]
    command = [str(nvim()), "--headless", "--clean", "--cmd", f"set packpath^={tmp_path}", "-c", "helptags ALL"]
    command += ["-c", f"call writefile(map([{', '.join(asked)}], 'string(v:val)'), '{tmp_path}/said')", "-c", "qall!"]
    subprocess.run(command, timeout=60, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    exists, lsp, helps = map(int, (tmp_path / "said").read_text().split())
    assert (exists, lsp) == (2, 1) and helps > 5


def test_form() -> None:
    done = subprocess.run(
        [str(_stylua()), "--check", "--config-path", str(PLUGIN / "stylua.toml"), *map(str, _sources()), str(UNIT)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_luacheck_finds_nothing() -> None:
    done = subprocess.run(
        [program("luacheck"), "--quiet", "--no-color", "."], cwd=PLUGIN, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout


def _sources() -> list[Path]:
    return sorted(path for path in PLUGIN.rglob("*.lua"))


def _stylua() -> Path:
    found = CACHE / "stylua-2.5.2" / "package" / "stylua"
    if not found.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [program("npm"), "pack", STYLUA, "--silent"]
        done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, timeout=100)
        if done.returncode:
            lacking("registries", f"npm could not fetch {STYLUA}")
        with tarfile.open(CACHE / done.stdout.strip().splitlines()[-1]) as archive:
            archive.extractall(CACHE / "stylua-2.5.2", filter="data")
        found.chmod(0o755)
    return found
