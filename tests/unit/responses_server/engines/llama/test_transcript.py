from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.engines.llama.transcript import Transcript


def tokens_of(text: str) -> list[int]:
    return [ord(char) for char in text]


def filled(*pieces: str) -> Transcript:
    transcript = Transcript()
    for piece in pieces:
        transcript.append(piece, tokens_of(piece))
    return transcript


def test_a_longer_text_goes_on_behind_all_of_it() -> None:
    assert filled("abc", "de").shared("abcdefg") == (5, 5)


def test_a_text_that_differs_in_the_last_piece_goes_on_at_the_mark_before_it() -> None:
    assert filled("abc", "de", "fg").shared("abcdeXX") == (5, 5)


def test_a_shorter_text_shares_up_to_the_last_mark_within_it() -> None:
    assert filled("abc", "de").shared("abcd") == (3, 3)


def test_a_text_that_begins_otherwise_shares_nothing() -> None:
    assert filled("abc").shared("xbc") == (0, 0)


def test_what_stands_behind_a_cut_is_forgotten() -> None:
    transcript = filled("abc", "de", "fg")
    transcript.cut((3, 3))
    transcript.append("xy", tokens_of("xy"))
    assert (transcript.text, transcript.tokens) == ("abcxy", tokens_of("abcxy"))
    assert transcript.shared("abcde") == (3, 3)


PIECES = st.lists(st.text("ab", min_size=1, max_size=4), max_size=6)


@given(PIECES, st.text("ab", max_size=20))
@settings(max_examples=120)
def test_the_mark_found_is_the_furthest_that_both_texts_agree_on(pieces: list[str], text: str) -> None:
    transcript = filled(*pieces)
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    agreed = [end for end in ends if end <= len(text) and text[:end] == transcript.text[:end]]
    assert transcript.shared(text) == (max(agreed), max(agreed))


@given(st.lists(st.text("ab", max_size=12), min_size=1, max_size=6))
@settings(max_examples=120)
def test_text_and_tokens_never_part(texts: list[str]) -> None:
    transcript = Transcript()
    for text in texts:
        mark = transcript.shared(text)
        transcript.cut(mark)
        transcript.append(text[mark[0] :], tokens_of(text[mark[0] :]))
        assert (transcript.text, transcript.tokens) == (text, tokens_of(text))
