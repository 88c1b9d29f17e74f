"""AGENTS.md files: those from a root down to each folder that the tools touch, each told once per session.

Source: agents.md, the nearest file wins; so they are told from the root downwards, the nearest last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from agent_core.agent.context.fragments import MAX_TOKENS, capped, tokens_of
from agent_core.untrusted_files import read_start

NAME = "AGENTS.md"
_HEAD = "AGENTS.md of "


class AgentsFiles:
    """Remembers what was told. `roots` are the workspace's folders, without links."""

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = [Path(root) for root in roots]
        self._looked: set[tuple[str, str]] = set()
        """Folders, and whatever was touched, by root and relative path: a tool call costs one look-up here."""
        self._left_tokens = MAX_TOKENS["all_agents"]

    def recall(self, texts: Iterable[str]) -> None:
        """Take note of what an earlier process told: messages of a history."""
        told = {line.removeprefix(_HEAD).rstrip(":") for text in texts for line in text.split("\n")
                if line.startswith(_HEAD)}  # fmt: skip
        for root in self._roots:
            self._looked |= {
                (str(root), name.partition("/")[2]) for name in told if name.partition("/")[0] == root.name
            }

    def of_roots(self) -> list[str]:
        """What the roots themselves say."""
        return [text for root in self._roots for text in self._new(str(root), "")]

    def on_the_way_to(self, root: str, relative: str) -> list[str]:
        """What the folders from `root` down to the file or folder `relative` say and was not told yet."""
        if (root, relative) in self._looked:
            return []
        return list(self._new(root, relative))

    def _new(self, root: str, relative: str) -> Iterator[str]:
        parts = relative.split("/") if relative else []
        for depth in range(len(parts) + 1):
            folder = "/".join(parts[:depth])
            if (root, folder) not in self._looked:
                self._looked.add((root, folder))
                yield from self._read(Path(root), Path(root, folder))

    def _read(self, root: Path, folder: Path) -> Iterator[str]:
        path = folder / NAME
        data = read_start(root, path.relative_to(root).as_posix(), 4 * 3 * MAX_TOKENS["agents"])
        text = (data or b"").decode("utf-8", "replace").strip()
        name = "/".join((root.name, *folder.relative_to(root).parts))
        if not text:
            return
        told = f"{_HEAD}{name}:\n{capped('agents', text)}"
        self._left_tokens -= tokens_of(told)
        yield told if self._left_tokens >= 0 else f"{_HEAD}{name}:\n[not shown for its length; read it if you need it]"
