"""The conversation in the terminal: CPU until a person can write, from a key to the screen, and CPU while a model
streams at 1,000 and 4,000 tokens a second."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from agent_core.bench.figures import Figure
from agent_core.bench.scale import quick
from agent_core.bench.serving import serving
from dashboard.bench.conversation_terminal import ConversationTerminal, middle_and_worst

RATES = (1_000, 4_000)
KEYS = "ZQXZZQQXXZQZXQXZ"
"""Written while nothing runs and while a model streams; no streamed text holds them."""
LAST = "COMPLETE"
PARAGRAPH = (
    "The *offset* is cut before it is read, so `parse` never sees it; the second test says so, and the plan above "
    "names the other three places.\n\n- one more **case** with a colon: `+05:30`\n- and one that has none\n\n"
    "```python\ndef parse(stamp: str) -> str:\n    if stamp.endswith('U'):\n        return stamp[:-1] + '+00:00'\n"
    "    return stamp[:19] + offset_of(stamp)  # as it came\n```\n\n"
)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    starts: int
    seconds: float
    """Of each stream."""


FULL, QUICK = Scale(starts=7, seconds=20.0), Scale(starts=2, seconds=4.0)


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """`rate`: tokens a second that really came; `cpu_s` of CPU a token."""

    rate: float
    cpu_s: float
    echo_ms: list[float]


def measure() -> Iterator[Figure]:
    """Targets: a prompt within 0.5 s of CPU; at 1,000 tokens a second 20 % of a core."""
    scale = QUICK if quick() else FULL
    texts = {rate: text_of(int(rate * scale.seconds)) for rate in RATES}
    with tempfile.TemporaryDirectory(prefix="loopline-bench-") as name:
        folder = Path(name)
        (folder / "rollout.json").write_text(json.dumps({"steps": _steps(texts)}))
        with serving(folder, "--rollout", str(folder / "rollout.json")) as served:
            service = f"http://127.0.0.1:{served.port}/v1"
            yield from _starts(folder, service, scale)
            yield from _streams(folder, service, texts)


def _starts(folder: Path, service: str, scale: Scale) -> Iterator[Figure]:
    cpu_s, wall_s = [], []
    for number in range(scale.starts + 1):
        with ConversationTerminal(folder / f"start{number}", service) as terminal:
            terminal.until("›")
            cpu_s.append(terminal.cpu_s())
            wall_s.append(terminal.age_s())
    runs = scale.starts  # the first one, which compiles and fills caches, does not count
    yield Figure(name="conversation: CPU until the prompt", value=statistics.median(cpu_s[1:]), unit="s", runs=runs)
    yield Figure(name="conversation: until the prompt", value=statistics.median(wall_s[1:]), unit="s", runs=runs)


def _streams(folder: Path, service: str, texts: dict[int, str]) -> Iterator[Figure]:
    with ConversationTerminal(folder / "talk", service) as terminal:
        terminal.until("scripted")
        terminal.press("hello\r")
        terminal.until("done")
        terminal.forget()
        yield from _echo(terminal.echo_ms(KEYS), "nothing else")
        for rate in RATES:
            stream = _stream(terminal, texts[rate])
            about = f"{rate:,} tok/s"
            yield Figure(
                name=f"conversation: CPU at {about}", value=stream.cpu_s * rate * 100, unit="% of a core",
                note=f"from the CPU of a token; {stream.rate:,.0f} tokens a second came",
            )  # fmt: skip
            yield from _echo(stream.echo_ms, about)


def _stream(terminal: ConversationTerminal, text: str) -> Stream:
    """One turn from its first words to its last, keys pressed in its midst."""
    terminal.press("\x03")
    terminal.press("tell me\r")
    terminal.forget()
    terminal.until("offset")
    cpu_s, began_s = terminal.cpu_s(), terminal.age_s()
    echo_ms = terminal.echo_ms(KEYS)
    terminal.until(LAST)
    cpu_s, taken_s = terminal.cpu_s() - cpu_s, terminal.age_s() - began_s
    terminal.until("done")
    terminal.forget()
    words = len(text.split())
    return Stream(rate=words / taken_s, cpu_s=cpu_s / words, echo_ms=echo_ms)


def _echo(echo_ms: list[float], during: str) -> Iterator[Figure]:
    middle, worst = middle_and_worst(echo_ms)
    yield Figure(
        name=f"conversation: a key to the screen, {during}", value=middle, unit="ms", runs=len(echo_ms),
        note=f"the slowest took {worst:.0f} ms",
    )  # fmt: skip


def text_of(words: int) -> str:
    """Markdown of that many words at least."""
    return PARAGRAPH * (words // len(PARAGRAPH.split()) + 1) + LAST


def _steps(texts: dict[int, str]) -> list[dict[str, object]]:
    streams: list[dict[str, object]] = [{"output": [{"text": texts[rate]}], "tokens_per_s": rate} for rate in texts]
    return [{"output": [{"text": "Hello."}]}, *streams]
