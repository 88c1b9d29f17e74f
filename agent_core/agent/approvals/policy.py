"""Approvals: whether a tool call may run. The policy is pure; asking goes through an `Approver` that a host hands in.

Each kind of tool has its own setting: `auto` is free, `never` is denied, `ask` goes by `approve`: `ask` asks, `auto`
allows, `never` denies. As shipped, reading, editing and notes are free and commands ask. Tools of an MCP server go by
that server's setting, which is `ask`; what it declares to only read, and nothing outside, is then free. A deny rule
wins over all.
Where a call would ask, an allow rule or an earlier "always" lets it through, but never what no rule may cover
(substitutions, redirects to outside, code for an interpreter): that asks every time.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from agent_core.agent.approvals.command_line import CommandLine, command_line_of
from agent_core.agent.approvals.grants import Grants
from agent_core.agent.approvals.invocations import Invocation
from agent_core.agent.approvals.rules import (
    OPAQUE,
    Rule,
    allowing,
    covers,
    denying,
    option_reason,
    read_rule,
    redirect_reason,
)
from agent_core.agent.approvals.words import Word
from agent_core.config.settings import Approve
from agent_core.errors import ToolError
from agent_core.tools.files.patch_format import read_patch
from agent_core.tools.mcp.names import server_of
from agent_core.tools.port import Kind
from agent_core.turns.approval import Approval, Decision

KINDS: Mapping[Kind, Approve] = {
    "read": "auto",
    "edit": "auto",
    "note": "auto",
    "command": "ask",
    "mcp": "ask",
    "mcp_read": "auto",
}
_PATCHED = re.compile(r"^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b/)?)(.+?)\s*$", re.MULTILINE)


class Verdict(msgspec.Struct, frozen=True):
    """`outcome` of the policy and the `rule` that decided, in words. `always`: an answer "always" would be kept.
    `even_auto`: it asks although `approve` is `auto`."""

    outcome: Literal["allow", "ask", "deny"]
    rule: str
    always: bool = True
    even_auto: bool = False


class Approver(Protocol):
    """Answers approvals; a host's side. None: nobody can answer here, which counts as deny with a hint."""

    async def __call__(self, approval: Approval, /) -> Decision | None: ...


async def nobody(approval: Approval) -> Decision | None:
    """The approver of a process without a terminal."""
    return None


def subject_of(name: str, arguments: Mapping[str, Any]) -> str:
    """What a person is shown of a call, and what "always" is keyed by: the exact command, else the target. Of a foreign
    tool it is all arguments; what is kept for it is the tool (see `Policy.remember`)."""
    if server_of(name) is not None:
        return msgspec.json.encode(arguments).decode()
    if name == "process" and arguments.get("input"):
        return f"{arguments.get('id', '')} <<< {arguments['input']}"
    if name == "patch":
        return ", ".join(dict.fromkeys(_PATCHED.findall(str(arguments.get("patch", ""))))) or name
    value = arguments.get("command") or arguments.get("target") or arguments.get("path") or ""
    return str(value).strip() or name


def targets_of(name: str, arguments: Mapping[str, Any]) -> list[str]:
    """The paths that an editing tool would write, as given; none where the tool itself will refuse them."""
    if name != "patch":
        path = arguments.get("path")
        return [path] if isinstance(path, str) else []
    try:
        sections = read_patch(str(arguments.get("patch", "")))
    except ToolError:
        return []
    return [path for section in sections for path in (section.path, section.move_to) if path is not None]


def _anywhere(path: str) -> bool:
    return True


class Policy:
    """Decides by settings and rules, and keeps what was allowed for good. One per session.

    `deny` and `allow` are patterns (see `rules`). `kinds` are settings that differ from `KINDS`. `roots` are the
    workspace's folders, the first one is where commands run; `inside` looks through links where a path really leads.
    `servers` are the settings of MCP servers by name. `gaps` names what the sandbox here does not hold of its
    guarantees: commands then ask, also where nothing else does.
    """

    def __init__(
        self,
        approve: Approve,
        deny: tuple[str, ...] = (),
        *,
        allow: Sequence[str] = (),
        kinds: Mapping[Kind, Approve] | None = None,
        roots: Sequence[str] = (),
        inside: Callable[[str], bool] = _anywhere,
        grants: Grants | None = None,
        servers: Mapping[str, Approve] | None = None,
        gaps: Sequence[str] = (),
    ) -> None:
        self._approve, self._gaps = approve, ", ".join(gaps)
        self._servers = servers or {}
        self._kinds = {**KINDS, **(kinds or {})}
        self._deny = [read_rule(pattern) for pattern in deny]
        self._allow = [read_rule(pattern) for pattern in allow]
        self._roots, self._inside = tuple(roots), inside
        self._grants = grants or Grants()

    def decide(self, kind: Kind, name: str, subject: str, guarded: str = "") -> Verdict:
        """Never asks by itself, and changes nothing. `guarded` says what of the subject runs by itself, and why: that
        is asked each time, also where nothing else is."""
        line = command_line_of(subject) if name == "shell" else None
        if (rule := self._denied(name, subject, line)) is not None:
            return Verdict("deny", f"deny rule {rule.pattern!r}")
        own, whose = self._own(kind, name)
        if own == "never":
            return Verdict("deny", f"{whose} is never allowed")
        if guarded:
            never = self._approve == "never"
            return (
                Verdict("deny", f"approve=never: {guarded}")
                if never
                else Verdict("ask", guarded, always=False, even_auto=True)
            )
        if name == "process" and subject == name:
            return Verdict("allow", "reading and stopping what was allowed to run")
        if own == "auto" or self._approve == "auto":
            opaque = OPAQUE.intersection(line.unclear) if line is not None and self._deny else ()
            if opaque:
                return Verdict("deny", f"deny rules can't be checked on {min(opaque)}")
            if kind == "command" and self._gaps:
                return self._confined_in_part(name, subject, line)
            return Verdict("allow", f"{whose} is free" if own == "auto" else "approve=auto")
        reason = self._reason(line)
        if reason is None and (covered := self._covered(name, subject, line)) is not None:
            return Verdict("allow", covered)
        if self._approve == "never":
            return Verdict("deny", "approve=never")
        if reason is not None:
            return Verdict("ask", reason, always=False)
        return Verdict("ask", (line and option_reason(self._allow, line)) or "approve=ask")

    def _confined_in_part(self, name: str, subject: str, line: CommandLine | None) -> Verdict:
        """Under `auto`, where the sandbox leaves gaps: what rules and grants let through, and nothing else."""
        keeps = self._reason(line) is None
        if keeps and (covered := self._covered(name, subject, line)) is not None:
            return Verdict("allow", covered)
        why = f"the sandbox here does not hold {self._gaps}; `loopline doctor` says more"
        return Verdict("ask", why, always=keeps, even_auto=True)

    def remember(self, name: str, subject: str) -> bool:
        """Allow this tool on this subject for the rest of the session; of a foreign tool, whatever its arguments. False
        where nothing may be kept."""
        line = command_line_of(subject) if name == "shell" else None
        if self._reason(line) is not None:
            return False
        self._grants.add(self._root, name, _key(name, subject, line))
        return True

    def _own(self, kind: Kind, name: str) -> tuple[Approve, str]:
        """The setting of this kind of tool, and how it is called."""
        server = server_of(name)
        if server is None:
            return self._kinds[kind], kind
        setting = self._servers.get(server, "ask")
        if setting == "ask" and kind == "mcp_read":
            return "auto", f"reading by the MCP server {server}"
        return setting, f"the MCP server {server}"

    @property
    def _root(self) -> str:
        return self._roots[0] if self._roots else ""

    def _denied(self, name: str, subject: str, line: CommandLine | None) -> Rule | None:
        if line is not None:
            return denying(self._deny, line, subject)
        folded = {" ".join(line.split()) for line in (subject, *subject.splitlines())}
        for rule in self._deny:
            if any(fnmatch.fnmatchcase(text, rule.pattern) for text in folded) or covers(rule, _as_step(name, subject)):
                return rule
        return None

    def _reason(self, line: CommandLine | None) -> str | None:
        """Why no rule may cover this command."""
        if line is None:
            return None
        if line.unclear:
            return line.unclear[0]
        return redirect_reason(line, self._roots, self._inside)

    def _covered(self, name: str, subject: str, line: CommandLine | None) -> str | None:
        """What allows a call that would ask, in words."""
        if self._grants.has(self._root, name, _key(name, subject, line)):
            return "allowed for this session"
        if line is None:
            return next((f"allow rule {r.pattern!r}" for r in self._allow if covers(r, _as_step(name, subject))), None)
        used: list[str] = []
        for part in line.parts:
            if (rules := allowing(self._allow, part)) is not None:
                used += [f"allow rule {rule.pattern!r}" for rule in rules]
            elif part.key and not line.moves and self._grants.has(self._root, name, part.key):
                used.append("allowed for this session")
            else:
                return None
        return ", ".join(dict.fromkeys(used)) or None


def _key(name: str, subject: str, line: CommandLine | None) -> str:
    """What "always" is kept under, beside root and tool."""
    if line is not None:
        return line.key
    return "" if server_of(name) is not None else subject


def _as_step(name: str, subject: str) -> Invocation:
    """A call of another tool than the shell, as rules see it: `tool:checks tests/test_a.py`."""
    return Invocation((Word(f"tool:{name}"), Word(subject)) if subject != name else (Word(f"tool:{name}"),))
