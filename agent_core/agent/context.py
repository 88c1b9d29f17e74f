"""What a session tells the model before the user's words: the system prompt and facts of the workspace, each capped.

The prompt is a file that a user can read and replace: `<config dir>/instructions.md`, else the one that ships.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import msgspec

from agent_core.errors import ConfigError

MAX_INSTRUCTIONS_BYTES = 16_000
MAX_AGENTS_BYTES = 8_000
MAX_ENTRIES = 60


def instructions(config_dir: Path) -> str:
    """The system prompt. Raises ConfigError where the user's own file can't be read as UTF-8."""
    own = config_dir / "instructions.md"
    try:
        text = own.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return resources.files(__package__).joinpath("instructions.md").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(own), "", "a readable file in UTF-8", got=str(error)) from None
    return text.strip()[:MAX_INSTRUCTIONS_BYTES]


def workspace_facts(roots: Sequence[Path]) -> str:
    """A short description of the workspace: system, roots, top-level entries and AGENTS.md of each root."""
    parts = [f"System: {platform.system()} {platform.machine()}"]
    for root in roots:
        entries = sorted(
            entry.name + ("/" if entry.is_dir() else "") for entry in root.iterdir() if not entry.name.startswith(".")
        )
        shown = entries[:MAX_ENTRIES]
        more = f" … and {len(entries) - len(shown)} more" if len(entries) > len(shown) else ""
        parts.append(f"Workspace root: {root.name}\nTop level: {' '.join(shown)}{more}")
        agents = root / "AGENTS.md"
        if agents.is_file() and agents.resolve().is_relative_to(root.resolve()):
            text = agents.read_bytes()[:MAX_AGENTS_BYTES].decode("utf-8", "replace")
            parts.append(f"AGENTS.md of {root.name}:\n{text}")
    return "\n\n".join(parts)


def message(role: str, text: str) -> bytes:
    """One encoded message item."""
    content = [{"type": "input_text", "text": text}]
    return msgspec.json.encode({"type": "message", "role": role, "content": content})
