"""Approvals of commands: the matrix, grants, and the reader of command lines."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.agent.approvals.command_line import command_line_of
from agent_core.agent.approvals.grammar import MAX_CHARACTERS
from agent_core.agent.approvals.grants import Grants
from agent_core.agent.approvals.policy import Policy, subject_of
from agent_core.agent.approvals.reading import read_shell
from agent_core.config.settings import Approve
from agent_core.tools.port import Kind
from tests.unit.agent.approval_matrix import ALLOW, DENY, ROOT, ROWS, SERVER_ROWS


def policy(approve: Approve) -> Policy:
    return Policy(approve, DENY, allow=ALLOW, roots=(ROOT,), inside=lambda path: not path.startswith("link/"))


@pytest.mark.parametrize(("command", "approve", "outcome", "rule"), ROWS)
def test_matrix(command: str, approve: Approve, outcome: str, rule: str) -> None:
    verdict = policy(approve).decide("command", "shell", command)
    assert (verdict.outcome, verdict.rule) == (outcome, rule)


@pytest.mark.parametrize(("kind", "name", "setting", "approve", "outcome", "rule"), SERVER_ROWS)
def test_matrix_of_servers(kind: Kind, name: str, setting: Approve, approve: Approve, outcome: str, rule: str) -> None:
    allow, deny = ("tool:mcp__git__show *",), (*DENY, "tool:mcp__git__push *")
    rules = Policy(approve, deny, allow=allow, roots=(ROOT,), servers={"git": setting} if setting else {})
    subject = '{"path":"the secret"}' if name.endswith("secret") else '{"path":"a.py"}'
    verdict = rules.decide(kind, name, subject)
    assert (verdict.outcome, verdict.rule) == (outcome, rule)


def test_always_for_a_foreign_tool_holds_for_that_tool_whatever_its_arguments() -> None:
    rules = Policy("ask", roots=(ROOT,))
    assert rules.remember("mcp__git__add", '{"files":["a"]}')
    assert rules.decide("mcp", "mcp__git__add", '{"files":["b"]}').rule == "allowed for this session"
    assert rules.decide("mcp", "mcp__git__commit", '{"files":["a"]}').outcome == "ask"
    assert rules.decide("mcp", "mcp__git2__add", '{"files":["a"]}').outcome == "ask"


def test_a_person_and_rules_see_all_of_a_foreign_tools_arguments() -> None:
    subject = subject_of("mcp__x__y", {"command": "ls", "text": "a" * 5_000 + " secret"})
    assert subject.startswith('{"command":"ls"') and subject.endswith('secret"}')
    assert Policy("auto", ("*secret*",)).decide("mcp", "mcp__x__y", subject).outcome == "deny"


def test_the_matrix_has_no_row_twice_and_is_large() -> None:
    assert len({row[:2] for row in ROWS}) == len(ROWS) >= 80


@pytest.mark.parametrize("command", sorted({row[0] for row in ROWS if row[0]}))
def test_always_counts_for_the_same_command_at_once_or_says_that_it_can_not(command: str) -> None:
    rules = Policy("ask", roots=(ROOT,), inside=lambda path: not path.startswith("link/"))
    asked = rules.decide("command", "shell", command)
    assert asked.outcome == "ask"
    kept = rules.remember("shell", command)
    assert kept == asked.always
    again = rules.decide("command", "shell", command)
    assert (again.outcome, again.rule) == (("allow", "allowed for this session") if kept else ("ask", asked.rule))


@pytest.mark.parametrize(
    ("granted", "same"),
    [
        ("git commit -m 'a b'", 'git  commit -m "a b"'),
        ("cat a | grep 'b c' | head -n 5", "cat a|grep b\\ c|head  -n 5"),
        ("cd src && pytest -q", "cd src  &&  pytest -q"),
        ("grep -r 'x' \"/work/app/my dir\"", "grep -r x '/work/app/my dir'"),
        ("echo a > 'out file'", "echo a >out\\ file"),
    ],
)
def test_always_sees_through_quotes_pipes_and_paths(granted: str, same: str) -> None:
    rules = Policy("ask", roots=(ROOT,))
    assert rules.remember("shell", granted)
    assert rules.decide("command", "shell", same).outcome == "allow"


@pytest.mark.parametrize(
    ("granted", "other"),
    [
        ("git status", "git status --short"),
        ("git status", "git status; whoami"),
        ("echo $A", "echo '$A'"),
        ("ls *", "ls '*'"),
        ("a && b", "a || b"),
        ("cat <<'E'\na\nE", "cat <<'E'\nb\nE"),
        ("echo a > b", "echo a >> b"),
        ("cd src && rm x", "cd lib && rm x"),
        ("rm x", "cd lib && rm x"),
        ("A=1 make", "A=2 make"),
    ],
)
def test_always_holds_for_nothing_else(granted: str, other: str) -> None:
    rules = Policy("ask", roots=(ROOT,))
    assert rules.remember("shell", granted)
    assert rules.decide("command", "shell", other).outcome == "ask"


def test_commands_allowed_one_by_one_may_be_joined() -> None:
    rules = Policy("ask", allow=("git status",), roots=(ROOT,))
    assert rules.remember("shell", "pytest -q")
    verdict = rules.decide("command", "shell", "git status && pytest -q")
    assert (verdict.outcome, verdict.rule) == ("allow", "allow rule 'git status', allowed for this session")


# opencode#9554: "always", given to one, overrode the stricter rules of another.
def test_a_grant_belongs_to_its_root_and_lasts_for_the_session(tmp_path: Path) -> None:
    kept = tmp_path / "grants"
    Policy("ask", roots=("/a",), grants=Grants(kept)).remember("shell", "make test")
    for root, outcome in (("/a", "allow"), ("/b", "ask")):
        later = Policy("ask", roots=(root,), grants=Grants(kept))
        assert later.decide("command", "shell", "make test").outcome == outcome
    stricter = Policy("ask", ("make *",), roots=("/a",), grants=Grants(kept))
    assert stricter.decide("command", "shell", "make test").outcome == "deny"
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_broken_file_of_grants_allows_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "grants"
    kept.write_bytes(b'{"root":\n\xff\n[]\n')
    rules = Policy("ask", roots=("/a",), grants=Grants(kept))
    assert rules.decide("command", "shell", "make").outcome == "ask"
    nowhere = Policy("ask", roots=("/a",), grants=Grants(tmp_path / "no" / "folder"))
    assert nowhere.remember("shell", "make")
    assert nowhere.decide("command", "shell", "make").outcome == "allow"


@pytest.mark.parametrize(
    ("own", "approve", "outcome"),
    [
        ("auto", "ask", "allow"),
        ("auto", "never", "allow"),
        ("ask", "ask", "ask"),
        ("ask", "auto", "allow"),
        ("ask", "never", "deny"),
        ("never", "ask", "deny"),
        ("never", "auto", "deny"),
    ],
)
@pytest.mark.parametrize("kind", ["read", "edit", "note", "command"])
def test_each_kind_of_tool_has_its_own_policy(kind: Kind, own: Approve, approve: Approve, outcome: str) -> None:
    assert Policy(approve, kinds={kind: own}).decide(kind, "tool", "subject").outcome == outcome


def test_rules_for_other_tools_name_the_tool() -> None:
    rules = Policy("ask", ("tool:edit *.lock",), allow=("tool:checks tests/*",), kinds={"edit": "ask"})
    assert rules.decide("command", "checks", "tests/test_a.py").rule == "allow rule 'tool:checks tests/*'"
    assert rules.decide("command", "checks", "checks").outcome == "ask"
    assert rules.decide("edit", "edit", "uv.lock").rule == "deny rule 'tool:edit *.lock'"
    assert rules.remember("edit", "a.py")
    assert rules.decide("edit", "edit", "a.py").outcome == "allow"
    assert rules.decide("edit", "edit", "b.py").outcome == "ask"


def test_what_a_person_is_shown_of_patches_and_of_input() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Delete File: b.py\n*** End Patch"
    assert subject_of("patch", {"patch": patch}) == "a.py, b.py"
    assert subject_of("process", {"id": "p1", "input": "rm -rf x\n"}) == "p1 <<< rm -rf x\n"


def test_reading_a_background_command_is_free_and_feeding_it_asks() -> None:
    rules = Policy("ask", ("tool:process *",), roots=(ROOT,))
    read = subject_of("process", {"id": "p1", "wait_s": 5})
    assert rules.decide("command", "process", subject_of("process", {"id": "p1", "input": "y"})).outcome == "deny"
    rules = Policy("ask", roots=(ROOT,))
    assert rules.decide("command", "process", read).outcome == "allow"
    assert rules.decide("command", "process", subject_of("process", {"id": "p1", "stop": True})).outcome == "allow"
    assert rules.decide("command", "process", subject_of("process", {"id": "p1", "input": "y"})).outcome == "ask"


def test_a_command_too_long_to_read_is_never_free_of_deny_rules() -> None:
    long = "echo " + "a" * MAX_CHARACTERS
    assert policy("ask").decide("command", "shell", long).outcome == "ask"
    assert policy("auto").decide("command", "shell", long).outcome == "deny"
    assert Policy("auto").decide("command", "shell", long).outcome == "allow"


@pytest.mark.parametrize("text", ["eval " * 5000, "$(" * 5000, "(" * 5000, "env " * 5000, "`" * 999, "bash -c " * 999])
def test_deep_nesting_ends(text: str) -> None:
    assert policy("ask").decide("command", "shell", text).outcome == "ask"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12), min_size=1))
def test_quoted_words_are_read_back_as_they_were(words: list[str]) -> None:
    words = ["run", *words]
    script = read_shell(shlex.join(words))
    assert [segment.argv for segment in script.segments] == [tuple(words)]
    assert not script.unclear
    assert not any(word.open or word.glob for word in script.segments[0].words)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab $(){}[]<>|&;'\"`\\\n\t#!~=*-c0", max_size=60))
def test_any_text_is_read_and_never_allowed_by_rules_for_other_programs(text: str) -> None:
    plan = command_line_of(text)
    rules = Policy("ask", allow=("git *",), roots=(ROOT,))
    assert rules.decide("command", "shell", text).outcome == "ask"
    assert plan.key == command_line_of(text).key
