"""What a person is told of reconnects, resends, renewals and changes of way."""

from __future__ import annotations

from typing import get_args

import pytest

from agent_core.agent.notices import notice_of
from agent_core.model.port import CallItem, CallStarted, FellBack, Reconnecting, TextDelta
from agent_core.telemetry.events import Reuse


def told(item: CallItem) -> str | None:
    notice = notice_of(item)
    return None if notice is None else notice.text


def test_a_try_again_is_counted() -> None:
    assert told(Reconnecting(1, 5, 0.2, "connection_lost")) == "reconnecting 1/5: connection_lost"


def test_a_change_of_way_says_why_and_for_how_long() -> None:
    assert "handshake_refused" in (told(FellBack("handshake_refused", 300.0)) or "")
    assert "5 min" in (told(FellBack("handshake_refused", 300.0)) or "")
    assert "this call" in (told(FellBack("connection_lost", 0.0)) or "")
    assert told(CallStarted(1, "first", "websocket", back=True)) == "back on WebSocket"


@pytest.mark.parametrize("reuse", get_args(Reuse))
def test_every_resend_that_a_connection_caused_has_a_line(reuse: Reuse) -> None:
    """The first full input, a delta and HTTP's full inputs are the ordinary way and say nothing."""
    silent = reuse in ("first", "reused", "full_resend")
    assert (told(CallStarted(2, reuse, "websocket")) is None) is silent


def test_what_is_said_is_no_notice() -> None:
    assert told(TextDelta("hello")) is None
