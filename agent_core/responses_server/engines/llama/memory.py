"""How much memory a model needs, and how much there is: too little is told before anything is loaded.

Linux gives memory away that it does not have and then kills the process, so llama.cpp could not tell.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agent_core.errors import EngineError
from agent_core.responses_server.engines.llama.gguf import Gguf
from agent_core.responses_server.engines.llama.settings import LlamaSettings

UNSTATED_CONTEXT: Final = 4096
"""Where the file does not say what the model was trained for."""
MOST_CONTEXT: Final = 16_384
"""Most tokens per conversation that are taken without being asked for."""
LEAST_CONTEXT: Final = 2048
SHARE: Final = 0.6
"""Share of what is free besides the weights that conversations may take without being asked for."""
WORK_BYTES: Final = 96 * 1024 * 1024
"""What llama.cpp takes besides weights and conversations: its tables and its buffers for one batch (measured)."""

_CGROUP: Final = Path("/sys/fs/cgroup")


def context_tokens(gguf: Gguf, settings: LlamaSettings, free_bytes: int | None) -> int:
    """Tokens per conversation. `free_bytes` None: not known, nothing is refused.

    Raises EngineError `engine_unavailable` where the model does not fit.
    """
    most = gguf.context_tokens or UNSTATED_CONTEXT
    wanted = min(settings.context or MOST_CONTEXT, most)
    if free_bytes is None:
        return wanted
    per_token = gguf.kv_bytes_per_token * settings.slots
    left = free_bytes - gguf.size_bytes - WORK_BYTES
    if not settings.context:
        while wanted > LEAST_CONTEXT and wanted * per_token > left * SHARE:
            wanted //= 2
    if wanted * per_token > left:
        needed = gguf.size_bytes + WORK_BYTES + wanted * per_token
        raise EngineError(
            f"Not enough memory for {gguf.path.name}: it needs {_shown(needed)} ({_shown(gguf.size_bytes)} of weights, "
            f"{settings.slots} conversations of {wanted} tokens), {_shown(free_bytes)} are free. Take a smaller model, "
            f"or set a smaller 'context' or fewer 'slots' for this engine.",
            code="engine_unavailable",
        )
    return wanted


def free_memory(proc: Path = Path("/proc/meminfo"), cgroup: Path = _CGROUP) -> int | None:
    """Bytes that can be taken without swapping, within the limit of this control group; None where it can't be
    known.
    """
    found: list[int] = []
    try:
        lines = proc.read_text().splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        return None
    try:
        limit = int((cgroup / "memory.max").read_text())
        found.append(limit - int((cgroup / "memory.current").read_text()) + _reclaimable(cgroup))
    except (OSError, ValueError):
        pass  # no control group of version 2, or no limit ("max")
    return max(0, min(found)) if found else None


def _reclaimable(cgroup: Path) -> int:
    """Bytes of files in the page cache: the kernel counts them as used, and lets go of them."""
    for line in (cgroup / "memory.stat").read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == "file":
            return int(value)
    return 0


def _shown(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.0f} MB"
