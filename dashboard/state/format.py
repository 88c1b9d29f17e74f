"""Numbers and foreign text as people read them: the same in every front end, so they live beside the figures."""

from __future__ import annotations

from agent_core.telemetry.display import (
    REUSE_WORDS,
    STAGE_WORDS,
    UNKNOWN,
    age,
    cached,
    clean,
    countdown,
    date_and_time,
    duration,
    money,
    number,
    one_line,
    percent,
    rate,
    reuse_word,
    short_number,
    size,
    time_of_day,
    visible,
)

__all__ = [
    "REUSE_WORDS",
    "STAGE_WORDS",
    "UNKNOWN",
    "age",
    "cached",
    "clean",
    "countdown",
    "date_and_time",
    "duration",
    "money",
    "number",
    "one_line",
    "percent",
    "rate",
    "reuse_word",
    "short_number",
    "size",
    "time_of_day",
    "visible",
]
