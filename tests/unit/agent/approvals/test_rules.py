"""Limits and approvals: the pure rules of a turn."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.agent.approvals.policy import Policy, subject_of
from agent_core.agent.limits import Limits, Spent, check
from agent_core.config.settings import Approve
from agent_core.errors import LimitReached
from agent_core.tools.port import Kind

LIMITS = Limits(calls=10, wall_s=60, tokens=1000, repeats=3)


@pytest.mark.parametrize(
    ("spent", "code"),
    [
        (Spent(calls=10), "limit_calls"),
        (Spent(wall_s=60.0), "limit_minutes"),
        (Spent(tokens=1000), "limit_tokens"),
        (Spent(repeats=3), "limit_repeats"),
    ],
)
def test_each_limit_stops_the_next_call_and_says_which(spent: Spent, code: str) -> None:
    with pytest.raises(LimitReached) as caught:
        check(spent, LIMITS)
    assert caught.value.code == code
    check(spent, Limits(calls=0, wall_s=0, tokens=0, repeats=0))


def test_below_every_limit_nothing_stops() -> None:
    check(Spent(calls=9, wall_s=59.9, tokens=999, repeats=2), LIMITS)


def test_only_equal_failures_in_a_row_count_as_repeats() -> None:
    spent = Spent()
    for signature, failed, expected in (
        ("a", True, 1),
        ("a", True, 2),
        ("b", True, 1),
        ("b", True, 2),
        ("b", False, 0),
    ):
        spent.tool_result(signature, failed)
        assert spent.repeats == expected


@pytest.mark.parametrize(
    ("approve", "kind", "outcome"),
    [
        ("ask", "read", "allow"),
        ("ask", "edit", "allow"),
        ("ask", "note", "allow"),
        ("ask", "command", "ask"),
        ("auto", "command", "allow"),
        ("never", "command", "deny"),
        ("never", "read", "allow"),
        ("never", "edit", "allow"),
    ],
)
def test_policy(approve: Approve, kind: Kind, outcome: str) -> None:
    assert Policy(approve).decide(kind, "tool", "subject").outcome == outcome


def test_deny_wins_over_auto_and_over_always() -> None:
    policy = Policy("auto", deny=("rm *",))
    policy.remember("shell", "rm -rf x")
    for subject in ("rm -rf x", "rm   -rf x", "echo a\nrm -rf x"):
        assert policy.decide("command", "shell", subject).outcome == "deny"


def test_always_holds_for_the_same_tool_and_subject_only() -> None:
    policy = Policy("ask")
    policy.remember("shell", subject_of("shell", {"command": "git status\n"}))
    for same in ("git status", "git  status", "git 'status'"):
        assert policy.decide("command", "shell", same).outcome == "allow"
    for other in ("git status && rm -rf x", "git\nstatus", "git 'status x'"):
        assert policy.decide("command", "shell", other).outcome == "ask"
    assert policy.decide("command", "checks", "git status").outcome == "ask"


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ({"command": " a \n b "}, "a \n b"),
        ({"target": "tests/x.py"}, "tests/x.py"),
        ({}, "checks"),
        ({"path": ""}, "checks"),
    ],
)
def test_subject(arguments: dict[str, Any], subject: str) -> None:
    assert subject_of("checks", arguments) == subject
