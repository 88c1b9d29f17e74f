"""What a model may write, as an llguidance grammar: free text, then calls whose arguments fit their schemas.

llama.cpp drops a grammar that it can't compile and samples without one, so each is compiled here first. Source:
guidance-ai/llguidance `docs/syntax.md` (Lark dialect, `%json`), `docs/json_schema.md` (`x-guidance`).
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from agent_core.errors import EngineError
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.llama.call_format import CallFormat

log = logging.getLogger(__name__)

THINK_OPEN: Final = "<think>"
THINK_CLOSE: Final = "</think>"
"""How reasoning is marked by the models that llama.cpp runs (DeepSeek R1, Qwen 3, SmolLM 3, …)."""

_HEADER: Final = "%llguidance {}\n"


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """What a response may be.

    `tools` by flat name with their schemas. `must_call`: no text instead of a call. `at_most` calls, None for no limit.
    `answer`: JSON Schema of the text, None for any text. `thinks`: reasoning may come first; `thinking`: the prompt has
    opened it already.
    """

    tools: Mapping[str, Mapping[str, Any]]
    must_call: bool = False
    at_most: int | None = None
    answer: Mapping[str, Any] | None = None
    thinks: bool = False
    thinking: bool = False


def demand_of(tools: FlatTools, *, must_call: bool, at_most: int | None, text_format: Mapping[str, Any] | None,
              thinks: bool, thinking: bool) -> Demand:  # fmt: skip
    answer: Mapping[str, Any] | None = None
    if text_format is not None and text_format.get("type") == "json_schema":
        answer = text_format.get("schema") or {}
    elif text_format is not None and text_format.get("type") == "json_object":
        answer = {"type": "object"}
    return Demand(
        tools={name: tools.schema(name) for name in tools.by_name},
        must_call=must_call,
        at_most=at_most,
        answer=answer,
        thinks=thinks,
        thinking=thinking,
    )


def grammar_for(demand: Demand, form: CallFormat, special: Mapping[str, int], ends: Sequence[int]) -> str | None:
    """The grammar, None where anything goes. `special`: control tokens; `ends`: those that end a message.

    Raises EngineError `invalid_tool_schema` or `invalid_text_format` for schemas that can't be compiled.
    """
    if not demand.tools and demand.answer is None:
        return None
    rules: list[str] = []
    bodies: list[str] = []
    if demand.tools:
        bodies.append("calls")
        rules += _calls(demand, form, special)
    if not (demand.must_call and demand.tools):
        if demand.answer is not None:
            bodies.append("answer")
            rules.append(f"answer: %json {_schema(demand.answer, form.colon, 'text.format')}")
        else:
            bodies[:] = ["TEXT? calls?"]
            rules.append(f"TEXT: /(?s:.*)/ & ~/(?s:.*){_regex(form.mark)}(?s:.*)/")
    think = ""
    if demand.thinks or demand.thinking:
        opening = "" if demand.thinking else _literal(THINK_OPEN, special) + " "
        close = _literal(THINK_CLOSE, special)
        think = "think" if demand.thinking else "think?"
        rules.append(f"think: {opening}THOUGHT {close} BLANK?")
        rules.append(f"THOUGHT: /(?s:.*)/ & ~/(?s:.*){_regex(THINK_CLOSE)}(?s:.*)/")
        rules.append(r"BLANK: /[ \n]{1,4}/")
    body = " | ".join(bodies)
    end = " | ".join(f"<[{token}]>" for token in ends)
    start = f"start: {think} ({body}) closing?" if end else f"start: {think} ({body})"
    return "\n".join([_HEADER + start, *([f"closing: {end}"] if end else []), *rules])


def _calls(demand: Demand, form: CallFormat, special: Mapping[str, int]) -> list[str]:
    most = 1 if form.joint is None else demand.at_most
    more = ""
    if most != 1 and form.joint is not None:
        times = "*" if most is None else f"{{0,{most - 1}}}"
        more = f"({_literal(form.joint, special)} call){times} "
    names = list(demand.tools)
    rules = [
        f"calls: {_literal(form.head, special)} call {more}{_literal(form.tail, special)}",
        "call: " + " | ".join(f"call_{index}" for index in range(len(names))),
    ]
    between = _literal(form.between, special)
    for index, name in enumerate(names):
        rules.append(f"call_{index}: {_literal(name, {})} {between} arguments_{index}")
        rules.append(f"arguments_{index}: %json {_schema(demand.tools[name], form.colon, name)}")
    return rules


def _schema(schema: Mapping[str, Any], colon: str, whose: str) -> str:
    """The schema as the grammar takes it; written out the way templates write JSON, so that it renders the same."""
    compiled, problem = _compiled(json.dumps(schema), colon, whose)
    if compiled is None:
        if whose == "text.format":
            raise EngineError(f"The schema of text.format can't be kept to: {problem}.", code="invalid_text_format")
        message = f"The schema of the tool '{whose}' can't be kept to: {problem}. Change it, or leave the tool out."
        raise EngineError(message, code="invalid_tool_schema")
    return compiled


@lru_cache(maxsize=512)
def _compiled(schema: str, colon: str, whose: str) -> tuple[str | None, str]:
    """With a grammar that keeps to all of it; else to all but the keywords that llguidance does not know."""
    from llguidance import LLMatcher

    problem = ""
    for lenient in (False, True):
        style = {"whitespace_flexible": False, "item_separator": "," + colon[1:], "key_separator": colon}
        text = json.dumps({**json.loads(schema), "x-guidance": {**style, "lenient": lenient}})
        failed, notes = LLMatcher.validate_grammar_with_warnings(f"{_HEADER}start: %json {text}")
        if not failed:
            if lenient:
                log.warning("the grammar of '%s' leaves something out of its schema: %s", whose, "; ".join(notes))
            return text, ""
        problem = problem or re.sub(r"^at [^:]*: (failed to compile JSON schema: )?", "", str(notes[0]).splitlines()[0])
    return None, problem


def _literal(text: str, special: Mapping[str, int]) -> str:
    """`text` as grammar symbols: control tokens by number, all else as a string."""
    if not text:
        return ""
    pattern = "|".join(map(re.escape, sorted(special, key=len, reverse=True)))
    pieces = re.split(f"({pattern})", text) if pattern else [text]
    return " ".join(f"<[{special[piece]}]>" if piece in special else json.dumps(piece) for piece in pieces if piece)


def _regex(text: str) -> str:
    """`text` inside of a regular expression between slashes."""
    return re.sub(r"[\\.^$*+?()\[\]{}|/]", r"\\\g<0>", text).replace("\n", r"\n")
