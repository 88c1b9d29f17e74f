"""Streams of Chat Completions put together by a seed from what servers are known to do, with what they say.

A server has habits, which one draw fixes for a whole answer; only what can be told apart by someone who reads the
stream is drawn together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.engines.chat_shape import DONE, USAGE, Json

WORDS = ["Hello", " there", "\n", "caf\u00e9 ", "\U0001f600", "{", "}", '"', "a.py", "  ", "<", "`x`", "0"]
TOOLS = ["read", "go", "readall", "edit_file"]
PIECES = ["by name", "in the first piece", "in every piece"]


@dataclass
class Said:
    """What an answer says, and how the server writes it."""

    events: list[Any] = field(default_factory=list)
    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    reason: str = "stop"
    counted: bool = False
    habits: dict[str, Any] = field(default_factory=dict)
    begun: int = 0
    """How many of the events leave something to come."""


def mixed(seed: int) -> Said:
    return _Server(Random(seed)).answer()


def cut(seed: int) -> tuple[list[Any], str]:
    """A stream that fails in its middle: its events, and how: `error`, or `breaks` without a word."""
    random = Random(seed)
    said = _Server(random).answer()
    kept = said.events[: random.randrange(said.begun + 1)]
    how = random.choice(["error", "breaks"])
    if how == "error":
        kept.append(
            random.choice(
                [
                    {"error": {"message": "overloaded", "code": 503}},
                    {"error": "out of memory"},
                    {"object": "error", "message": "gone", "code": 500},
                    {"choices": [], "error": {"message": "gone"}},
                    {"type": "error", "message": "x"},
                ]
            )
        )
        kept += random.choice([[], [DONE]])
    return kept, how


class _Server:
    """One server with its habits, for one answer."""

    def __init__(self, random: Random) -> None:
        self._random = random
        pick = random.choice
        several = random.random() < 0.5
        self.habits: dict[str, Any] = {
            "role": pick(["first", "every", "never", "empty"]),
            "early reason": pick(["null", "null", "absent", "empty", "stop"]),
            "content": pick(["text", "text", "part", "parts"]),
            "reasoning": pick(["reasoning_content", "reasoning", "both", "details", "thinking part"]),
            "noise": pick([0.0, 0.3, 0.8]),
            "index": pick(["right", "right", "missing", "all 0", "from 1", "null"]),
            "id": pick(["own", "own", "same", "missing", "empty", "number", "null"]),
            "name": pick(["first", "first", "every"]),
            "arguments": pick(["whole", "pieces", "object", "empty first", "null first"]),
            "calls in": pick(["one chunk each", "one chunk"]),
            "end": pick(["reason alone", "reason with the last", "no reason", "two reasons"]),
            "usage": pick(["last", "with the reason", "every", "absent", "in the choice", "null until last"]),
            "done": pick([True, True, True, False]),
            "several": several,
        }
        if self.habits["end"] == "no reason" and self.habits["usage"] not in ("last", "null until last"):
            self.habits["done"] = True
        if self.habits["early reason"] == "stop":
            # Nothing tells a chunk that was called the last from the last one but what comes behind.
            self.habits["done"] = True

    def answer(self) -> Said:
        random, said = self._random, Said(habits=self.habits)
        chunks: list[Json] = []
        if random.random() < 0.4:
            said.reasoning = self._words(6)
            chunks += [self._thought(piece) for piece in self._cut(said.reasoning)]
        with_calls = random.random() < 0.6
        if not with_calls or random.random() < 0.5:
            said.text = self._words(8)
            chunks += [{"content": self._content(piece)} for piece in self._cut(said.text)]
        if with_calls:
            said.calls = [self._call(n) for n in range(random.randint(1, 3) if self.habits["several"] else 1)]
            chunks += self._calls(said.calls)
        self._stream(said, chunks)
        return said

    def _words(self, most: int) -> str:
        # Blanks at an end are a matter of taste of the reader, and no server's habit.
        return "x" + "".join(self._random.choices(WORDS, k=self._random.randint(0, most))) + "y"

    def _cut(self, text: str) -> list[str]:
        pieces, rest = [], text
        while rest:
            size = self._random.randint(1, max(1, len(text) // 2))
            pieces.append(rest[:size])
            rest = rest[size:]
        return pieces

    def _thought(self, piece: str) -> Json:
        match self.habits["reasoning"]:
            case "both":
                return {"reasoning": piece, "reasoning_content": piece}
            case "details":
                return {"reasoning_details": [{"type": "reasoning.text", "text": piece}]}
            case "thinking part":
                return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]}]}
            case name:
                return {name: piece}

    def _content(self, piece: str) -> Any:
        match self.habits["content"]:
            case "part":
                return {"type": "text", "text": piece}
            case "parts":
                return [{"type": "text", "text": piece}]
            case _:
                return piece

    def _call(self, number: int) -> tuple[str, Any]:
        random = self._random
        found: Any = {"path": f"{number}{random.choice(WORDS)}.py"}
        if random.random() < 0.3:
            found["lines"] = [1, {"a": None}]
        return random.choice(TOOLS), found

    def _calls(self, calls: list[tuple[str, Any]]) -> list[Json]:
        if self.habits["calls in"] == "one chunk":
            return [{"tool_calls": [self._piece(n, call, json.dumps(call[1]), 0) for n, call in enumerate(calls)]}]
        return [{"tool_calls": [piece]} for number, call in enumerate(calls) for piece in self._pieces(number, call)]

    def _pieces(self, number: int, call: tuple[str, Any]) -> list[Json]:
        text = json.dumps(call[1], ensure_ascii=self._random.random() < 0.5)
        match self.habits["arguments"]:
            case "object":
                return [self._piece(number, call, call[1], 0)]
            case "whole":
                return [self._piece(number, call, text, 0)]
            case "empty first":
                pieces: list[Any] = ["", *self._cut(text)]
            case "null first":
                pieces = [None, text]
            case _:
                pieces = list(self._cut(text))
        return [self._piece(number, call, piece, place) for place, piece in enumerate(pieces)]

    def _piece(self, number: int, call: tuple[str, Any], arguments: Any, place: int) -> Json:
        habits, piece = self.habits, Json()
        match habits["index"]:
            case "right":
                piece["index"] = number
            case "all 0":
                piece["index"] = 0
            case "from 1":
                piece["index"] = number + 1
            case "null":
                piece["index"] = None
        if place == 0 or (habits["id"] in ("own", "number", "same") and self._random.random() < 0.5):
            ids: dict[str, Any] = {"own": f"call_{number}", "same": "call_0", "empty": "", "number": number}
            ids["null"] = None
            if habits["id"] in ids:
                piece["id"] = ids[habits["id"]]
        function: Json = {}
        if place == 0 or habits["name"] == "every":
            function["name"] = call[0]
        if arguments is not None or place:
            function["arguments"] = arguments
        return piece | {"type": "function", "function": function}

    def _stream(self, said: Said, chunks: list[Json]) -> None:
        habits, random = self.habits, self._random
        early = {"null": None, "empty": "", "stop": "stop"}
        final = random.choice(["stop", "stop", "eos", "length"])
        final = "tool_calls" if said.calls and random.random() < 0.8 else final
        rows: list[tuple[Json, Any]] = [(chunk, early.get(habits["early reason"], ...)) for chunk in chunks]
        match habits["end"]:
            case "reason alone":
                rows.append((random.choice([{}, {"content": ""}, {"content": None}]), final))
            case "reason with the last":
                rows[-1] = (rows[-1][0], final)
            case "two reasons":
                rows += [({}, final), ({}, final)]
            case _:
                final = "stop"
        said.reason = "max_output_tokens" if final == "length" else "stop"
        for place, (delta, reason) in enumerate(rows):
            last = place == len(rows) - 1
            said.events += self._noise() if place else []
            said.begun = len(said.events) if place < len(chunks) else said.begun
            said.events.append(self._chunk(delta, reason, first=place == 0, last=last))
        usage = habits["usage"]
        said.counted = usage != "absent" and not (usage == "in the choice" and habits["end"] == "no reason")
        if usage in ("last", "null until last"):
            said.events.append({"choices": [], "usage": USAGE})
        if habits["done"]:
            said.events.append(DONE)

    def _chunk(self, delta: Json, reason: Any, *, first: bool, last: bool) -> Json:
        habits = self.habits
        if habits["role"] == "every" or (habits["role"] == "first" and first):
            delta = {"role": "assistant"} | delta
        elif habits["role"] == "empty":
            delta = {"role": ""} | delta
        choice: Json = {"index": 0, "delta": delta}
        if reason is not ...:
            choice["finish_reason"] = reason
        chunk: Json = {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}
        match habits["usage"]:
            case "every":
                chunk["usage"] = USAGE
            case "with the reason" if last:
                chunk["usage"] = USAGE
            case "in the choice" if last:
                choice["usage"] = USAGE
            case "null until last":
                chunk["usage"] = None
        return chunk

    def _noise(self) -> list[Any]:
        if self._random.random() >= self.habits["noise"]:
            return []
        empty = {"index": 0, "delta": {}}
        return [
            self._random.choice(
                [
                    {"choices": []},
                    {"choices": None},
                    {"choices": [{"index": 0, "delta": None}]},
                    {"choices": [empty]},
                    {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": None}]},
                    {"choices": [{"index": 0, "delta": {"content": None, "tool_calls": None}}]},
                    {"choices": [{"index": 0, "delta": {"tool_calls": []}}]},
                    {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
                    {"choices": [empty | {"logprobs": None, "matched_stop": 3}], "x": {"y": 1}},
                    {"object": "ping"},
                    "ping",
                ]
            )
        ]
