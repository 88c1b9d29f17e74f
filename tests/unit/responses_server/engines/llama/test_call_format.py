from __future__ import annotations

import json

import pytest

from agent_core.responses_server.engines.chat_turns import Call, Turn
from agent_core.responses_server.engines.llama.call_format import HERMES, CallFormat, find_call_format
from agent_core.responses_server.engines.llama.template import ChatTemplate
from tests.support.engines.llama_server import HERMES_TEMPLATE
from tests.support.engines.llama_tiny import CHATML

LLAMA3 = (
    "{{ bos_token }}{% if tools %}{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{% endif %}"
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{% if m.tool_calls %}{% if m.tool_calls | length != 1 %}{{ raise_exception('one call at a time') }}{% endif %}"
    '{{ \'{"name": "\' + m.tool_calls[0].function.name + \'", "parameters": \' }}'
    "{{ m.tool_calls[0].function.arguments | tojson }}{{ '}' }}"
    "{% else %}{{ m.content }}{% endif %}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
WITH_IDS = HERMES_TEMPLATE.replace(
    '{"name": "{{ call.function.name }}"', '{"id": "{{ call.id }}", "name": "{{ call.function.name }}"'
)
AS_XML = HERMES_TEMPLATE.replace(
    "{{ call.function.arguments | tojson }}",
    "{% for k, v in call.function.arguments.items() %}<{{ k }}>{{ v }}</{{ k }}>{% endfor %}",
)


def found(source: str, eos: str = "<|im_end|>") -> CallFormat:
    return find_call_format(ChatTemplate(source), eos)


def test_a_template_that_spells_calls_is_followed() -> None:
    form = found(HERMES_TEMPLATE)
    assert form.native
    assert form.spelled([("read", '{"a": 1}')]) == '<tool_call>\n{"name": "read", "arguments": {"a": 1}}\n</tool_call>'
    assert form.joint is not None


def test_a_template_with_one_call_at_a_time_has_no_joint() -> None:
    form = found(LLAMA3, "<|eot_id|>")
    assert (form.native, form.joint) == (True, None)
    assert (form.head, form.between, form.tail) == ('{"name": "', '", "parameters": ', "}")
    assert form.mark == '{"name": "'


@pytest.mark.parametrize("source", [CHATML, WITH_IDS, AS_XML])
def test_other_templates_get_the_common_spelling(source: str) -> None:
    form = found(source)
    assert (form.native, form.head, form.tail) == (False, HERMES.head, HERMES.tail)
    assert form.mark == "<tool_call>"


def test_tools_are_told_in_the_system_message_where_the_template_does_not_list_them() -> None:
    tool = {"type": "function", "function": {"name": "read", "parameters": {}}}
    messages = HERMES.messages([Turn("system", ["Be kind."]), Turn("user", ["hi"])], [tool], ChatTemplate(CHATML))
    assert len(messages) == 2
    assert messages[0]["content"].startswith("Be kind.\n\n# Tools")
    assert json.dumps(tool) in messages[0]["content"]


def test_a_history_reads_as_the_model_would_have_written_it() -> None:
    turns = [Turn("assistant", ["I look."], [Call("c1", "read", '{"a":1}')]), Turn("tool", ["42"], call_id="c1")]
    messages = HERMES.messages(turns, [], ChatTemplate(CHATML))
    assert messages[0]["content"] == "I look.\n" + HERMES.spelled([("read", '{"a": 1}')])
    assert messages[1] == {"role": "user", "content": "<tool_response>\n42\n</tool_response>"}
