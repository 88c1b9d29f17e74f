from __future__ import annotations

import json

import pytest
from llguidance import LLMatcher

from agent_core.errors import EngineError
from agent_core.responses_server.engine import EngineTool
from agent_core.responses_server.engines.chat_turns import FlatTools
from agent_core.responses_server.engines.llama.call_format import HERMES
from agent_core.responses_server.engines.llama.grammar import Demand, demand_of, grammar_for

READ = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
SPECIAL = {"<|im_end|>": 2}


def compiles(grammar: str | None) -> bool:
    assert grammar is not None
    failed, _ = LLMatcher.validate_grammar_with_warnings(grammar)
    return not failed


def test_plain_text_needs_none() -> None:
    assert grammar_for(Demand(tools={}), HERMES, SPECIAL, [2]) is None


@pytest.mark.parametrize(
    "demand",
    [
        Demand(tools={"read": READ, "ns__go": {"type": "object"}}),
        Demand(tools={"read": READ}, must_call=True, at_most=1),
        Demand(tools={"read": READ}, at_most=3, thinks=True),
        Demand(tools={"read": READ}, answer=READ, thinking=True),
        Demand(tools={}, answer=READ),
    ],
)
def test_what_is_demanded_compiles(demand: Demand) -> None:
    assert compiles(grammar_for(demand, HERMES, SPECIAL, [2]))


def test_a_demanded_call_leaves_no_room_for_text() -> None:
    free = grammar_for(Demand(tools={"read": READ}), HERMES, SPECIAL, [2])
    bound = grammar_for(Demand(tools={"read": READ}, must_call=True), HERMES, SPECIAL, [2])
    assert free is not None
    assert bound is not None
    assert "TEXT" in free
    assert "TEXT" not in bound


def test_one_call_at_most() -> None:
    grammar = grammar_for(Demand(tools={"read": READ}, at_most=1), HERMES, SPECIAL, [2])
    assert grammar is not None
    assert json.dumps(HERMES.joint) not in grammar


def test_keywords_that_can_not_be_kept_to_are_left_out_and_told(caplog: pytest.LogCaptureFixture) -> None:
    schema = {**READ, "not": {"required": ["zap"]}, "title": "left-out"}
    assert compiles(grammar_for(Demand(tools={"odd": schema}), HERMES, SPECIAL, [2]))
    assert "leaves something out of its schema" in caplog.text


def test_a_schema_that_is_none_is_told_with_the_tool() -> None:
    with pytest.raises(EngineError, match="tool 'odd'.*Invalid type: strange") as failure:
        grammar_for(Demand(tools={"odd": {"type": "strange"}}), HERMES, SPECIAL, [2])
    assert failure.value.code == "invalid_tool_schema"
    with pytest.raises(EngineError, match=r"text\.format") as failure:
        grammar_for(Demand(tools={}, answer={"type": "strange"}), HERMES, SPECIAL, [2])
    assert failure.value.code == "invalid_text_format"


def test_tools_get_objects_with_nothing_but_what_they_name() -> None:
    tools = FlatTools([EngineTool(name="read", parameters={"properties": {"a": {}}}), EngineTool(name="any")])
    demand = demand_of(tools, must_call=False, at_most=None, text_format=None, thinks=False, thinking=False)
    assert demand.tools["read"] == {"additionalProperties": False, "type": "object", "properties": {"a": {}}}
    assert demand.tools["any"] == {"type": "object"}
