"""Numbers with their units, and foreign text made harmless."""

from __future__ import annotations

import unicodedata
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.state import format as fmt
from tests.support.telemetry.recorded_feed import HOSTILE


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "–"), (0, "0 ms"), (0.04, "0.0 ms"), (4.13, "4.1 ms"), (9.95, "10 ms"), (410.4, "410 ms"),
        (999.4, "999 ms"), (999.6, "1.00 s"), (6_204, "6.20 s"), (59_994, "59.99 s"), (59_999, "1 min 00 s"),
        (187_000, "3 min 07 s"), (3_599_600, "1 h 00 min"), (7_500_000, "2 h 05 min"),
    ],
)  # fmt: skip
def test_durations(ms: float | None, text: str) -> None:
    assert fmt.duration(ms) == text


def test_counts_sizes_shares_rates_and_money() -> None:
    assert [fmt.size(count) for count in (None, 0, 812, 9_800, 1_240_000, 2.5e9, -3_300)] == [
        "–", "0 B", "812 B", "9.8 kB", "1.2 MB", "2.5 GB", "-3.3 kB"
    ]  # fmt: skip
    assert [fmt.number(count) for count in (None, 0, 12_310)] == ["–", "0", "12,310"]
    assert [fmt.short_number(count) for count in (None, 812, 9_999, 12_310, 4.1e6)] == [
        "–", "812", "9,999", "12.3k", "4.1M"
    ]  # fmt: skip
    assert [fmt.percent(share) for share in (None, 0.0, 0.001, 0.94, 0.9999, 1.0)] == [
        "–", "0 %", "<1 %", "94 %", "99 %", "100 %"
    ]  # fmt: skip
    assert [fmt.rate(None), fmt.rate(812.4), fmt.rate(9.4), fmt.rate(1_240, estimated=True)] == [
        "–", "812 tok/s", "9.4 tok/s", "≈1,240 tok/s"
    ]  # fmt: skip
    assert [fmt.money(usd) for usd in (None, 0.0, 0.00004, 0.0031, 0.15, 1_840.5)] == [
        "–", "$0.00", "<$0.0001", "$0.0031", "$0.15", "$1,840.50"
    ]  # fmt: skip
    assert [fmt.cached(None, None), fmt.cached(2_351, None), fmt.cached(2_351, 0.87)] == ["–", "2,351", "2,351 (87 %)"]
    assert [fmt.reuse_word(None), fmt.reuse_word("reused"), fmt.reuse_word("odd\x1b[2J")] == ["–", "⟲ reused", "odd"]


def test_times() -> None:
    assert [fmt.age(s) for s in (None, -1, 2_472, 90_061)] == ["–", "00:00:00", "00:41:12", "1 d 01:01:01"]
    assert [fmt.countdown(s) for s in (None, -5, 0.4, 828, 3_723)] == ["–", "due", "due", "13:48", "1:02:03"]
    east = timezone(timedelta(hours=2))
    assert fmt.time_of_day(1_796_000_000_000_000_000, east) == "02:53"
    assert fmt.time_of_day(1_796_000_007_000_000_000, seconds=True) == "00:53:27"
    assert fmt.date_and_time(1_796_000_000_000_000_000, east) == "2026-11-30 02:53:20"
    assert (fmt.time_of_day(None), fmt.date_and_time(None)) == ("–", "–")


def test_hostile_text_keeps_its_letters_and_loses_its_powers() -> None:
    assert fmt.clean(HOSTILE) == "[/foo] [@click=app.quit]x[/] red "
    assert fmt.clean("a\r\nb\tc") == "a\nb\tc"
    assert fmt.one_line("a\n\tb  c\x00") == "a b c"
    assert fmt.one_line("x" * 50, 10) == "x" * 9 + "…"


@given(st.text(st.characters() | st.sampled_from("\x1b[]\x9b\x07;m\u202e"), max_size=60))
def test_clean_text_has_no_control_character_but_newline_and_tab(text: str) -> None:
    cleaned = fmt.clean(text)
    assert all(char in "\n\t" or unicodedata.category(char) != "Cc" for char in cleaned)
    assert not set(cleaned) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2069\u200f")
    assert fmt.clean(cleaned) == cleaned


def test_what_a_person_allows_is_spelled_out() -> None:
    assert fmt.visible("rm -rf x\x1b[2K\u202e\u200b\r\nls\rcd") == "rm -rf x\\x1b[2K\\u202e\\u200b\nls\\rcd"
    assert fmt.visible("grüße [/foo]") == "grüße [/foo]"
