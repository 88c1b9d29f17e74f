"""What changes around a conversation, told at the start of a turn if it changed since it was told last.

Git's branch and state, what others did to files that the model has seen (as a diff), the documents that the editor has
open, and its diagnostics. Everything is bounded in size and in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from agent_core.agent.context.fragments import capped, listed
from agent_core.agent.context.git_state import GitState, Views, read_git
from agent_core.errors import LooplineError, ToolError
from agent_core.tools.editor.diagnostics import Diagnostic, DiagnosticSource
from agent_core.tools.files.outside import outside_changes
from agent_core.tools.workspace.roots import shown_path
from agent_core.tools.workspace.workspace import Documents, Workspace

HOST_LIMIT_S = 2.0
_WORDS: Mapping[str, str] = {"?": "untracked", "A": "added", "D": "deleted", "M": "modified", "T": "changed type",
                             "U": "unmerged"}  # fmt: skip
_SEVERITY = ("error", "warning", "information", "hint")


class EnvironmentContext:
    """Belongs to one session, and remembers what it told."""

    def __init__(
        self,
        workspace: Workspace,
        environment: Mapping[str, str],
        documents: Documents | None = None,
        diagnostics: DiagnosticSource | None = None,
    ) -> None:
        self._workspace, self._environment = workspace, environment
        self._views = Views()
        self._documents, self._diagnostics = documents, diagnostics
        self._told: dict[str, str] = {}

    def forget(self) -> None:
        """Nothing of what was told is in the conversation any more."""
        self._told.clear()

    def close(self) -> None:
        """Remove what is kept on disk to look at repositories."""
        self._views.close()

    async def notes(self) -> list[str]:
        """News since the last time, each kind once."""
        git, found = await asyncio.gather(self._git_text(), self._diagnostics_text())
        texts = {"git": git, "documents": self._documents_text(), "diagnostics": found}
        news = [text for kind, text in texts.items() if text != self._told.get(kind, "") and text]
        news += [f"No more {kind}." for kind, text in texts.items() if not text and self._told.get(kind)]
        self._told = texts
        if changes := await self._changes():
            news.append(changes)
        return news

    async def _changes(self) -> str:
        found = await outside_changes(self._workspace)
        if not found:
            return ""
        told = "\n".join(f"{change.path}: {change.note}" for change in found)
        return capped("changes", f"Changed by others since you last saw it:\n{told}")

    async def _git_text(self) -> str:
        roots = [self._workspace.resolve(root).path for root in self._workspace.roots]
        states = await asyncio.gather(*(read_git(root, self._environment, self._views) for root in roots))
        told = [_git_lines(root.name, state) for root, state in zip(roots, states, strict=True) if state is not None]
        return "\n".join(told)

    def _documents_text(self) -> str:
        if self._documents is None:
            return ""
        lines = []
        for path, document in self._documents.opened().items():
            try:
                at = self._workspace.resolve(path)
                self._workspace.check_open(at)
            except ToolError:
                continue
            lines.append(f"{at.shown}{' (not saved)' if document.unsaved else ''}")
        return listed("documents", "Open in the editor:", lines)

    async def _diagnostics_text(self) -> str:
        if self._diagnostics is None:
            return ""
        try:
            async with asyncio.timeout(HOST_LIMIT_S):
                found = await self._diagnostics.diagnostics(None)
        except (TimeoutError, LooplineError):
            return ""
        ordered = sorted(found, key=lambda each: (_SEVERITY.index(each.severity), each.path, each.line))
        lines = [line for each in ordered if (line := self._diagnostic_line(each)) is not None]
        return listed("diagnostics", f"Diagnostics in the editor ({len(lines)}):", lines)

    def _diagnostic_line(self, each: Diagnostic) -> str | None:
        try:
            shown = self._workspace.resolve(each.path).shown
        except ToolError:
            return None
        return f"{shown}:{each.line}:{each.column}: {each.severity}: {' '.join(each.message.split())[:300]}"


def _git_lines(name: str, state: GitState) -> str:
    if state.unread and not state.commit:
        return f"git of {name}: not read: {state.unread}"
    where = f"on branch {state.branch}" if state.branch else "on no branch"
    ahead = f", {state.ahead} ahead and {state.behind} behind" if state.ahead or state.behind else ""
    head = f"git of {name}: {where} at {state.commit or 'no commit'}{ahead}"
    if state.changed is None:
        return f"{head}; which files changed is not known: {state.unread}"
    if not state.changed:
        return f"{head}; no changes"
    lines = (f"  {shown_path(path)} ({_word(letters)})" for path, letters in state.changed.items())
    return listed("git", f"{head}; {len(state.changed)} changed:", lines)


def _word(letters: str) -> str:
    """git's two letters, index and work tree, in a word."""
    return next((_WORDS.get(letter, "changed") for letter in reversed(letters) if letter not in ". "), "changed")
