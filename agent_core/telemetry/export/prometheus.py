"""Metrics in Prometheus' text format (exposition formats, text, 0.0.4). Pure; every metric of ours is written here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]
Sample = tuple[Labels, float]
Kind = Literal["counter", "gauge", "histogram"]


def head(name: str, kind: Kind, about: str = "") -> Iterator[str]:
    """What stands above the samples of a metric; `about` empty: without help."""
    if about:
        yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"


def family(name: str, kind: Kind, about: str, samples: Iterable[Sample]) -> Iterator[str]:
    """A counter or gauge, whole."""
    yield from head(name, kind, about)
    yield from (sample(name, labels, value) for labels, value in samples)


def histogram(
    name: str, labels: Labels, within: Iterable[tuple[float | None, int]], total: float, count: int
) -> Iterator[str]:
    """The samples of one histogram. `within`: how many values are at most the bound, by rising bounds; None: all."""
    for bound, values in within:
        le = "+Inf" if bound is None else _number(bound)
        yield sample(f"{name}_bucket", {**labels, "le": le}, values)
    yield sample(f"{name}_sum", labels, total)
    yield sample(f"{name}_count", labels, count)


def sample(name: str, labels: Labels, value: float) -> str:
    """One line."""
    inner = ",".join(f'{label}="{_text(text)}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {_number(value)}" if inner else f"{name} {_number(value)}"


def _text(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(round(value, 9)) if isinstance(value, float) and not value.is_integer() else str(int(value))
