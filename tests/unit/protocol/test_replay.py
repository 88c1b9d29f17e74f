"""The replay rule by phase."""

from __future__ import annotations

from agent_core.protocol.replay import REPLAY, Phase


def test_every_phase_has_a_rule() -> None:
    assert set(REPLAY) == set(Phase)


def test_what_was_not_sent_is_no_attempt_and_voids_nothing() -> None:
    rule = REPLAY[Phase.NOT_SENT]
    assert (rule.new_attempt, rule.discard, rule.full) == (False, False, False)


def test_what_was_sent_is_asked_for_again_in_full() -> None:
    rule = REPLAY[Phase.SENT]
    assert (rule.new_attempt, rule.discard, rule.full) == (True, False, True)


def test_a_partial_response_is_discarded_first() -> None:
    rule = REPLAY[Phase.EVENTS_SEEN]
    assert (rule.new_attempt, rule.discard, rule.full) == (True, True, True)
