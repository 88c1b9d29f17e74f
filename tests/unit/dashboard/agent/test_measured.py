"""The measurement of the conversation: what it streams, and that it reads a screen as it was drawn."""

from __future__ import annotations

from dashboard.bench.conversation_terminal import drawn
from dashboard.bench.interactive import KEYS, LAST, text_of


def test_a_stream_has_its_words_and_none_of_the_keys() -> None:
    text = text_of(1_000)
    assert len(text.split()) >= 1_000 and text.endswith(LAST)
    assert not set(KEYS) & set(text)


def test_what_was_drawn_is_read_without_colours_and_movements() -> None:
    assert drawn(b"\x1b[2;1H\x1b[38;2;1;2;3mZQ\x1b[0m\x1b]9;word\x07X \xe2\x80\xba") == "ZQX ›"
