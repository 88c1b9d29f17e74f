"""Limits of keys, on a clock of our own."""

from __future__ import annotations

import pytest

from agent_core.errors import Retry
from agent_core.responses_server.admission.limits import Limits
from agent_core.responses_server.settings import KeyLimits


class Hand:
    """A clock that stands where it is put."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def hand() -> Hand:
    return Hand()


def test_requests_of_a_minute(hand: Hand) -> None:
    limits = Limits({"a": KeyLimits(requests_per_minute=6), "b": KeyLimits(requests_per_minute=6)}, hand)
    assert [limits.admit("a") for _ in range(6)] == [None] * 6
    refusal = limits.admit("a")
    assert refusal is not None
    assert (refusal.code, refusal.status, refusal.retry, refusal.retry_after_s) == (
        "rate_limit_exceeded",
        429,
        Retry.BACKOFF,
        10.0,
    )
    assert "requests of key 'a'" in refusal.message
    assert "try again in 10s" in refusal.message
    assert limits.admit("b") is None, "each key has its own"
    hand.now_s += 9.9
    assert limits.admit("a") is not None
    hand.now_s += 0.2
    assert limits.admit("a") is None
    assert limits.admit("a") is not None
    assert limits.refused == {("a", "requests"): 3}


def test_idleness_saves_up_a_minute_at_most(hand: Hand) -> None:
    limits = Limits({"a": KeyLimits(requests_per_minute=2)}, hand)
    hand.now_s += 3600
    assert [limits.admit("a") is None for _ in range(4)] == [True, True, False, False]


def test_tokens_are_taken_when_they_are_known(hand: Hand) -> None:
    limits = Limits({"a": KeyLimits(tokens_per_minute=600)}, hand)
    assert limits.admit("a") is None
    limits.charge("a", 700)
    refusal = limits.admit("a")
    assert refusal is not None
    assert refusal.retry_after_s == pytest.approx(10.1)
    hand.now_s += refusal.retry_after_s or 0
    assert limits.admit("a") is None
    assert limits.refused == {("a", "tokens"): 1}


def test_a_request_refused_for_its_tokens_takes_no_request(hand: Hand) -> None:
    limits = Limits({"a": KeyLimits(requests_per_minute=1, tokens_per_minute=60)}, hand)
    limits.charge("a", 90)
    assert limits.admit("a") is not None
    hand.now_s += 31
    assert limits.admit("a") is None


def test_connections_at_once(hand: Hand) -> None:
    limits = Limits({"a": KeyLimits(connections=2)}, hand)
    assert [limits.connect("a") is None for _ in range(3)] == [True, True, False]
    limits.disconnect("a")
    assert limits.connect("a") is None
    refusal = limits.connect("a")
    assert refusal is not None
    assert refusal.retry_after_s == 1.0


def test_no_limit_and_no_such_key(hand: Hand) -> None:
    limits = Limits({"a": KeyLimits()}, hand)
    for key in ("a", "nobody"):
        for _ in range(1_000):
            assert limits.connect(key) is None
            assert limits.admit(key) is None
            limits.charge(key, 10**9)
        limits.disconnect(key)


def test_limits_below_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        KeyLimits(connections=-1)
