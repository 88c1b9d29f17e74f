"""How long refusals ask to wait: every form of the headers, and what is none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.pauses import MOST_S, pause_s

NOW = datetime(2026, 12, 1, 10, tzinfo=UTC)
AT = "Tue, 01 Dec 2026 10:00:30 GMT"
EPOCH = int(NOW.timestamp()) + 30

RETRY_AFTER = {
    "": None,
    "0": 0.0,
    "5": 5.0,
    " 5 ": 5.0,
    "1.5": 1.5,
    "20s": 20.0,
    "1m30s": 90.0,
    "250ms": 0.25,
    AT: 30.0,
    "Tuesday, 01-Dec-26 10:00:30 GMT": 30.0,
    "Tue Dec  1 10:00:30 2026": 30.0,
    "Tue, 01 Dec 2026 11:00:30 +0100": 30.0,
    "2026-12-01T10:00:30Z": 30.0,
    "2026-12-01T11:00:30.5+01:00": 30.5,
    "Tue, 01 Dec 2026 09:00:00 GMT": 0.0,
    str(EPOCH): 30.0,
    str(EPOCH * 1000): 30.0,
    str(EPOCH - 99): 0.0,
    "5, 10": 10.0,
    f"{AT}, {AT}": 30.0,
    # No pause at all, or none that can be believed.
    "-5": None,
    "+5": None,
    "1e3": None,
    "inf": None,
    "nan": None,
    "soon": None,
    "\u0663": None,
    "5 s": None,
    "Fri, 31 Dec 9999 23:59:59 GMT": None,
    "Tue, 99 Dec 2026 99:99:99 GMT": None,
    "99999999": None,
    "9" * 400: None,
    "1d" * 4000: None,
}


@pytest.mark.parametrize("value", RETRY_AFTER, ids=lambda value: value[:40])
def test_retry_after(value: str) -> None:
    assert pause_s({"retry-after": value}, NOW) == RETRY_AFTER[value]


def test_what_is_told_first_counts() -> None:
    assert pause_s({"retry-after-ms": "250", "retry-after": "9"}, NOW) == 0.25
    for useless in ("x", "-1", "", "9" * 20):
        assert pause_s({"retry-after-ms": useless, "retry-after": "3"}, NOW) == 3
    assert pause_s({"retry-after": "-1", "x-ratelimit-reset": "7"}, NOW, status=429) == 7
    assert pause_s({"x-ratelimit-retry-after": "3"}, NOW) == 3


def test_dates_are_told_from_the_clock_of_the_server() -> None:
    late = {"date": "Tue, 01 Dec 2026 10:00:20 GMT", "retry-after": AT}
    assert pause_s(late, NOW) == pause_s(late, None) == 10
    assert pause_s({"retry-after": AT}, None) is None
    assert pause_s({"date": "today", "retry-after": AT}, NOW) == 30


LIMITS: dict[str, tuple[dict[str, str], float | None]] = {
    "seconds": ({"x-ratelimit-reset": "50"}, 50),
    "IETF": ({"ratelimit-reset": "50", "ratelimit-remaining": "0"}, 50),
    "GitHub": ({"x-ratelimit-reset": str(EPOCH), "x-ratelimit-remaining": "0"}, 30),
    "OpenRouter": ({"x-ratelimit-reset": str(EPOCH * 1000), "x-ratelimit-remaining": "0"}, 30),
    "OpenAI": (
        {
            "x-ratelimit-reset-requests": "8h",
            "x-ratelimit-remaining-requests": "11",
            "x-ratelimit-reset-tokens": "6m0s",
            "x-ratelimit-remaining-tokens": "0",
        },
        360,
    ),
    "Groq": ({"x-ratelimit-reset-tokens": "7.66s", "x-ratelimit-remaining-tokens": "0"}, 7.66),
    "Anthropic": (
        {"anthropic-ratelimit-tokens-reset": "2026-12-01T10:00:07Z", "anthropic-ratelimit-tokens-remaining": "0"},
        7,
    ),
    "Azure without a limit": ({"x-ratelimit-reset-tokens": "0", "x-ratelimit-remaining-tokens": "-1"}, 0),
    "the longest of what was hit": (
        {
            "x-ratelimit-reset-requests": "3s",
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-tokens": "4s",
            "x-ratelimit-remaining-tokens": "0",
        },
        4,
    ),
    "something remains of all": ({"x-ratelimit-reset": "50", "x-ratelimit-remaining": "7"}, None),
    "no time": ({"x-ratelimit-reset": "later", "x-ratelimit-remaining": "0"}, None),
    "another header": ({"x-ratelimit-limit": "50", "x-reset": "3"}, None),
}


@pytest.mark.parametrize("name", LIMITS)
def test_when_the_limit_is_lifted(name: str) -> None:
    headers, wanted = LIMITS[name]
    assert pause_s(headers, NOW, status=429) == wanted
    assert pause_s(headers, NOW, status=400) is None
    assert pause_s(headers, NOW) is None
    assert pause_s(headers | {"retry-after": "2"}, NOW, status=429) == 2


_NAMES = st.sampled_from(
    ["retry-after", "retry-after-ms", "date", "x-ratelimit-reset", "ratelimit-reset-tokens", "x-ratelimit-remaining"]
)
_VALUES = st.one_of(
    st.text(max_size=70), st.from_regex(r"[-+0-9.:eE ,smhdTZGMonTue]*"), st.sampled_from([*RETRY_AFTER])
)


@given(st.dictionaries(_NAMES, _VALUES))
def test_any_header_is_a_pause_or_none(headers: dict[str, str]) -> None:
    found = pause_s(headers, NOW, status=429)
    assert found is None or 0 <= found <= MOST_S
