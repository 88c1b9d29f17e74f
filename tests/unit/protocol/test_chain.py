"""Delta or full: the decision and its outcome."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.protocol.chain import Chain, Plan
from agent_core.protocol.item_log import Items

FIELDS = b"fields"
USER, CALL, OUTPUT, MORE = b'{"u":1}', b'{"c":1}', b'{"o":1}', b'{"u":2}'


def chained(log: Items, output: list[bytes]) -> Chain:
    """A chain after one response to `log` with `output`."""
    chain = Chain()
    chain.sent()
    chain.advance("resp_1", FIELDS, log.digest(len(log)), len(log), output)
    return chain


def test_the_first_request_is_full_and_called_first() -> None:
    assert Chain().plan(FIELDS, Items([USER])) == Plan(None, 0, "first")


def test_a_request_that_extends_input_and_output_is_a_delta_of_what_follows() -> None:
    chain = chained(Items([USER]), [CALL])
    assert chain.plan(FIELDS, Items([USER, CALL, OUTPUT])) == Plan("resp_1", 2, "reused")


def test_an_empty_delta_is_a_delta() -> None:
    chain = chained(Items([USER]), [])
    assert chain.plan(FIELDS, Items([USER])) == Plan("resp_1", 1, "reused")


@pytest.mark.parametrize(
    "log",
    [
        Items([USER, MORE, OUTPUT]),  # another output than the service gave
        Items([MORE, CALL, OUTPUT]),  # another input
        Items([USER]),  # shorter than what the service holds
        Items([]),
    ],
)
def test_anything_else_than_an_extension_is_sent_in_full(log: Items) -> None:
    assert chained(Items([USER]), [CALL]).plan(FIELDS, log) == Plan(None, 0, "full_resend")


def test_other_fields_are_sent_in_full_and_the_chain_survives_for_the_old_fields() -> None:
    chain = chained(Items([USER]), [CALL])
    log = Items([USER, CALL])
    assert chain.plan(b"other", log) == Plan(None, 0, "full_resend")
    assert chain.plan(FIELDS, log) == Plan("resp_1", 2, "reused")


def test_an_error_that_started_nothing_keeps_the_chain() -> None:
    chain = chained(Items([USER]), [CALL])
    chain.refused()
    assert chain.plan(FIELDS, Items([USER, CALL])).reuse == "reused"


def test_not_found_after_our_own_failed_continuation_is_an_eviction() -> None:
    chain = chained(Items([USER]), [CALL])
    chain.refused()
    chain.not_found()
    assert chain.plan(FIELDS, Items([USER, CALL])) == Plan(None, 0, "evicted")


def test_not_found_without_a_failure_before_is_not_found() -> None:
    chain = chained(Items([USER]), [CALL])
    chain.not_found()
    assert chain.plan(FIELDS, Items([USER, CALL])) == Plan(None, 0, "not_found")


def test_a_success_clears_the_doubt() -> None:
    log = Items([USER, CALL])
    chain = chained(Items([USER]), [CALL])
    chain.refused()
    chain.advance("resp_2", FIELDS, log.digest(2), 2, [])
    chain.not_found()
    assert chain.plan(FIELDS, log).reuse == "not_found"


def test_a_broken_response_and_a_lost_connection_give_full_inputs_with_their_causes() -> None:
    log = Items([USER, CALL])
    chain = chained(Items([USER]), [CALL])
    chain.broken()
    assert chain.plan(FIELDS, log) == Plan(None, 0, "full_resend")
    for cause in ("rotated", "reconnected"):
        chain = chained(Items([USER]), [CALL])
        chain.lost(cause)
        assert chain.plan(FIELDS, log) == Plan(None, 0, cause)


def test_a_connection_lost_before_the_first_send_leaves_the_first_request_first() -> None:
    chain = Chain()
    chain.lost("reconnected")
    assert chain.plan(FIELDS, Items([USER])).reuse == "first"
    chain.sent()
    assert chain.plan(FIELDS, Items([USER])).reuse == "reconnected"


item = st.sampled_from([USER, CALL, OUTPUT, MORE])
items = st.lists(item, max_size=5)


@given(items, items, items)
def test_a_delta_and_what_the_service_holds_always_make_the_whole_input(
    held_input: list[bytes], held_output: list[bytes], new: list[bytes]
) -> None:
    chain = chained(Items(held_input), held_output)
    log = Items(new)
    plan = chain.plan(FIELDS, log)
    if plan.previous_response_id is None:
        assert new[: len(held_input) + len(held_output)] != held_input + held_output
        assert plan.first_new == 0
    else:
        assert held_input + held_output + log.raw(plan.first_new) == new


def test_a_log_compacted_behind_the_link_starts_a_new_chain_from_its_start() -> None:
    log = Items([USER])
    chain = chained(log, [CALL])
    log.extend([CALL, OUTPUT])
    log.start = 2
    assert chain.plan(FIELDS, log) == Plan(None, 2, "full_resend")
    log.start = 3
    assert chain.plan(FIELDS, log) == Plan(None, 3, "full_resend")


def test_a_compaction_in_the_links_own_output_keeps_the_chain() -> None:
    """The service compacts inside a response: chaining by id goes on, a full input starts at the compaction item."""
    log = Items([USER])
    chain = chained(log, [CALL, MORE])
    log.extend([CALL, MORE, OUTPUT])
    log.start = 1
    assert chain.plan(FIELDS, log) == Plan("resp_1", 3, "reused")
    chain.lost("reconnected")
    assert chain.plan(FIELDS, log) == Plan(None, 1, "reconnected")
