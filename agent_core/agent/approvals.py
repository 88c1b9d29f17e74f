"""Approvals: whether a tool call may run. The policy is pure; asking goes through an `Approver` that a host hands in.

`ask`: reading is free, edits inside the roots go ahead, commands ask. `auto`: nothing asks. `never`: what `ask` would
ask for is denied. A deny rule wins over all. "Always" is remembered for the session, for that tool and subject only.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from agent_core.config import Approve
from agent_core.tools.port import Kind

Decision = Literal["allow", "always", "deny"]


class Verdict(msgspec.Struct, frozen=True):
    """`outcome` of the policy and the `rule` that decided, in words."""

    outcome: Literal["allow", "ask", "deny"]
    rule: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: the tool's `kind` and `name`, and its `subject` (the command line, or the target)."""

    approval: str
    kind: Kind
    name: str
    subject: str


class Approver(Protocol):
    """Answers questions; a host's side. None: nobody can answer here, which counts as deny with a hint."""

    async def __call__(self, question: Question) -> Decision | None: ...


async def nobody(question: Question) -> Decision | None:
    """The approver of a process without a terminal."""
    return None


def subject_of(name: str, arguments: Mapping[str, Any]) -> str:
    """What a person is shown of a call, and what "always" is keyed by: the exact command, else the target."""
    value = arguments.get("command") or arguments.get("target") or arguments.get("path") or ""
    return str(value).strip() or name


class Policy:
    """Decides by settings, and remembers what was allowed for good. One per session."""

    def __init__(self, approve: Approve, deny: tuple[str, ...] = ()) -> None:
        self._approve, self._deny = approve, deny
        self._always: set[tuple[str, str]] = set()

    def decide(self, kind: Kind, name: str, subject: str) -> Verdict:
        folded = [" ".join(line.split()) for line in (subject, *subject.splitlines())]
        for pattern in self._deny:
            if any(fnmatch.fnmatchcase(text, pattern) for text in folded):
                return Verdict("deny", f"deny rule {pattern!r}")
        if kind != "command":
            return Verdict("allow", f"{kind} is free")
        if self._approve == "auto":
            return Verdict("allow", "approve=auto")
        if (name, subject) in self._always:
            return Verdict("allow", "allowed for this session")
        if self._approve == "never":
            return Verdict("deny", "approve=never")
        return Verdict("ask", "approve=ask")

    def remember(self, name: str, subject: str) -> None:
        """Allow this tool on this subject for the rest of the session."""
        self._always.add((name, subject))
