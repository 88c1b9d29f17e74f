"""What one way of a rollout saves against another, from which step, and from which speed on how much. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def saved(baseline_s: float, other_s: float) -> float:
    """The share of the baseline's time that the other way saves; negative: it takes longer."""
    return 1 - other_s / baseline_s


def split(seconds: Mapping[str, float], order: Sequence[str]) -> list[tuple[str, str, float]]:
    """What each step from one way to the next saves: (from, to, share of all that lies between first and last).

    The shares add up to 1; one is negative where a step costs time. Empty where first and last are equal.
    """
    whole = seconds[order[0]] - seconds[order[-1]]
    if not whole:
        return []
    return [(a, b, (seconds[a] - seconds[b]) / whole) for a, b in zip(order, order[1:], strict=False)]


def speed_for(share: float, tokens: int, baseline_s: float, other_s: float) -> float | None:
    """Tokens a second from which on the other way saves `share` of the baseline's time; None: it does so at no speed.

    `baseline_s`, `other_s`: what each takes besides the sampling of all `tokens`, which is taken to be the same at
    every speed. 0: it does so at every speed.
    """
    gain_s = baseline_s - other_s
    sampling_s = gain_s / share - baseline_s
    if gain_s <= 0 or sampling_s <= 0:
        return None
    return tokens / sampling_s
