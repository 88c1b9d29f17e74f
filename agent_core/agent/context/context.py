"""What a session tells the model besides the user's words, each piece once and within its bound.

At the start: the workspace and the AGENTS.md of its roots. At each turn's start: what changed around it. After tools:
the AGENTS.md of folders that they touched first. The system prompt is a file that a user can read and replace:
`<config dir>/instructions.md`, else the one that ships.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path

import msgspec

from agent_core.agent.calls import Call, calls_of
from agent_core.agent.context.agents_files import AgentsFiles
from agent_core.agent.context.environment import EnvironmentContext
from agent_core.agent.context.fragments import MAX_TOKENS, capped, cut, message
from agent_core.agent.context.touched import TouchedFiles
from agent_core.errors import ConfigError, ToolError
from agent_core.tools.port import ToolResult
from agent_core.tools.workspace.workspace import Workspace
from agent_core.turns.options import Mode

_MODES: Mapping[Mode, str] = {
    "plan": (
        "Plan mode: change nothing. Look at what you need, then answer with a plan for the task: what is to be done, "
        "file by file and in which order, how it will be checked, and what is still open."
    ),
    "act": "Plan mode is over: files may be changed again.",
}


def instructions(config_dir: Path) -> str:
    """The system prompt. Raises ConfigError where the user's own file can't be read as UTF-8."""
    own = config_dir / "instructions.md"
    try:
        text = own.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return resources.files(__package__).joinpath("instructions.md").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(own), "", "a readable file in UTF-8", got=str(error)) from None
    return capped("instructions", text.strip())


def workspace_facts(roots: Sequence[Path]) -> str:
    """A short description of the workspace: system, roots and their top-level entries."""
    parts = [f"System: {platform.system()} {platform.machine()}"]
    for root in roots:
        entries = sorted(
            entry.name + ("/" if entry.is_dir() else "") for entry in root.iterdir() if not entry.name.startswith(".")
        )
        shown = cut(" ".join(entries), MAX_TOKENS["entries"])
        parts.append(f"Workspace root: {root.name}\nTop level: {shown}")
    return "\n\n".join(parts)


class SessionContext:
    """Belongs to one session; its methods give encoded items to append to the history."""

    def __init__(self, workspace: Workspace, surroundings: EnvironmentContext) -> None:
        self._workspace, self._surroundings = workspace, surroundings
        self._agents = AgentsFiles(workspace.roots)
        self.footprint = TouchedFiles()
        self._mode: Mode = "act"

    def recall(self, items: Sequence[bytes]) -> None:
        """Take up a history that an earlier process wrote."""
        self.footprint.recall(calls_of(items))
        told = _texts(items)
        self._agents.recall(told)
        self._mode = next((mode for text in reversed(told) for mode, words in _MODES.items() if text == words), "act")

    async def opening(self, *, anew: bool = False) -> list[bytes]:
        """Where the session works. `anew`: what was told before is gone, so it is told again."""
        if anew:
            self._agents = AgentsFiles(self._workspace.roots)
            self._surroundings.forget()
        facts = [workspace_facts(self._roots()), *await self._surroundings.notes(), *self._agents.of_roots()]
        if anew and self._mode == "plan":
            facts.append(_MODES["plan"])
        return [message("developer", "\n\n".join(facts))]

    async def before_turn(self) -> list[bytes]:
        """What changed since the last turn."""
        notes = await self._surroundings.notes()
        return [message("developer", "\n\n".join(notes))] if notes else []

    def mode(self, mode: Mode) -> list[bytes]:
        """What a turn in another mode than the one before may do."""
        if mode == self._mode:
            return []
        self._mode = mode
        return [message("developer", _MODES[mode])]

    async def before_call(self) -> list[bytes]:
        """What became of edits that an editor had not shown when their tool ended."""
        if not (came := await self._workspace.came_through()):
            return []
        told = f"The editor has shown the edit that was unconfirmed; it is in the text now: {', '.join(came)}"
        return [message("developer", told)]

    def after_tool(self, call: Call, result: ToolResult) -> list[bytes]:
        """A tool ran: what the folders that it touched say."""
        told: list[str] = []
        for path in self.footprint.note(call, result.files_changed):
            try:
                at = self._workspace.resolve(path)
            except ToolError:
                continue
            told += self._agents.on_the_way_to(at.root, at.relative)
        return [message("developer", "\n\n".join(told))] if told else []

    def _roots(self) -> list[Path]:
        return [Path(root) for root in self._workspace.roots]


class _Message(msgspec.Struct):
    class Part(msgspec.Struct):
        text: str = ""

    content: str | list[Part]
    type: str = ""
    role: str = ""


_decode_message = msgspec.json.Decoder(_Message).decode


def _texts(items: Iterable[bytes]) -> list[str]:
    """What developer messages say."""
    texts = []
    for item in items:
        try:
            read = _decode_message(item)
        except msgspec.MsgspecError:
            continue
        if read.role == "developer":
            texts += [read.content] if isinstance(read.content, str) else [part.text for part in read.content]
    return texts
