"""A first load of a model in a process of its own: `python -m …llama.trial`, the settings as JSON on stdin.

llama.cpp aborts its process on some damaged files (`GGML_ASSERT`), and Linux kills a process that takes too much
memory; here that ends a trial and not the service. Its second load is quick, since the file is in memory by then.
"""

from __future__ import annotations

import asyncio
import re
import resource
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from agent_core import launch
from agent_core.errors import EngineError
from agent_core.responses_server.engines.llama.host import load
from agent_core.responses_server.engines.llama.settings import LlamaSettings
from agent_core.variables import variables

TIMEOUT_S: Final = 60.0
BYTES_PER_S: Final = 20e6
"""Slowest disk that is waited for, besides `TIMEOUT_S`."""

_REFUSED_EXIT = 3
_STAMP: Final = re.compile(r"^[\d.]+ [A-Z] (\w+\s+\w+: )?")
"""llama.cpp's time, level and place in front of a message."""


class Trial(msgspec.Struct, frozen=True):
    path: str
    settings: LlamaSettings
    context: int


async def try_out(path: Path, settings: LlamaSettings, context: int) -> None:
    """Load the model and sample one token, elsewhere. Raises EngineError `engine_unavailable` with the cause."""
    process = await launch.start(
        launch.own_module(__name__),
        environment=launch.own_environment(variables(), GGML_NO_BACKTRACE="1"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(TIMEOUT_S + path.stat().st_size / BYTES_PER_S):
            _, errors = await process.communicate(msgspec.json.encode(Trial(str(path), settings, context)))
    except TimeoutError:
        raise _unusable(path, "does not load in time") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == 0:
        return
    if process.returncode == -signal.SIGKILL:
        message = (
            f"Not enough memory for {path.name}: the system killed its first load. Take a smaller model, or set a "
            f"smaller 'context' or fewer 'slots' for this engine."
        )
        raise EngineError(message, code="engine_unavailable")
    lines = errors.decode("utf-8", "replace").splitlines()
    said = _STAMP.sub("", lines[0])[:300] if lines else f"exit code {process.returncode}"
    raise _unusable(path, f"can't be run by llama.cpp ({said})")


def _unusable(path: Path, what: str) -> EngineError:
    message = f"The model file {path} {what}; take another file, or download it again."
    return EngineError(message, code="engine_unavailable")


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    trial = msgspec.json.decode(sys.stdin.buffer.read(), type=Trial)
    with tempfile.TemporaryDirectory(prefix="loopline-llama-") as folder:
        try:
            server = load(Path(trial.path), trial.settings, trial.context, Path(folder))
        except EngineError:
            return _REFUSED_EXIT
        answer = server.handle_completions({"prompt": "a", "max_tokens": 1, "temperature": 0})
        if "choices" in answer:
            return 0
        sys.stderr.write(f"{answer.get('message', 'it can not generate text')}\n")
        sys.stderr.flush()
        return _REFUSED_EXIT


if __name__ == "__main__":
    sys.exit(main())
