"""How a model's template spells tool calls, found by looking at what it makes of two.

Whatever the model, calls are `head NAME between ARGUMENTS joint NAME between ARGUMENTS tail`, where arguments are a
JSON object. Templates that can't be read so (no tools, ids inside, arguments as XML) get the Hermes spelling, and are
told of the tools in the system message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from agent_core.responses_server.engines.chat_turns import Turn
from agent_core.responses_server.engines.llama.template import ChatTemplate, TemplateRefusal

_ONE, _TWO, _ID, _KEY, _VALUE, _ANSWER = "zqfirst", "zqsecond", "zqident01", "zqkey", "zqvalue", "zqanswer"
_ARGUMENTS: Final = re.compile(r'\{\s*"zqkey"(\s*:\s*)"zqvalue"\s*\}')

TURN_ENDS: Final = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<end_of_turn>", "<|return|>", "</s>")
"""Ends of a message in the templates of the common model families, besides the one that a file names."""

PREAMBLE: Final = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{tools}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""
"""The Hermes prompt (NousResearch/Hermes-Function-Calling), which small instruction models know as well."""


class CallFormat(msgspec.Struct, frozen=True, kw_only=True):
    """`native`: the template lists tools and spells calls itself. `tool_role`: it takes messages from tools.

    `joint` None: one call at a time. `colon`: what stands between a key and its value in arguments, so that calls are
    written as they are rendered.
    """

    head: str
    between: str
    joint: str | None
    tail: str
    colon: str = ": "
    native: bool = False
    tool_role: bool = False

    @property
    def mark(self) -> str:
        """What no plain text may have in it: once a model has begun a call so, it has to make one."""
        return self.head.lstrip().partition("\n")[0]

    def spelled(self, calls: Sequence[tuple[str, str]]) -> str:
        """Names with arguments, as the model would write them."""
        text = self.head
        for index, (name, arguments) in enumerate(calls):
            text += (self.joint or self.head if index else "") + name + self.between + arguments
        return text + self.tail

    def messages(self, turns: Sequence[Turn], tools: Sequence[Mapping[str, Any]], template: ChatTemplate) -> list[Any]:
        """The turns as the template takes them."""
        messages = [self._message(turn, template) for turn in turns]
        if tools and not self.native:
            listed = "\n".join(template.plain(dumped(tool)) for tool in tools)
            preamble = PREAMBLE.format(tools=listed)
            if messages and messages[0]["role"] == "system":
                messages[0] = {"role": "system", "content": f"{messages[0]['content']}\n\n{preamble}"}
            else:
                messages.insert(0, {"role": "system", "content": preamble})
        return messages

    def _message(self, turn: Turn, template: ChatTemplate) -> dict[str, Any]:
        text = template.plain(turn.text)
        if turn.role == "tool":
            if self.tool_role:
                return {"role": "tool", "content": text, "name": turn.name or "", "tool_call_id": turn.call_id or ""}
            return {"role": "user", "content": f"<tool_response>\n{text}\n</tool_response>"}
        if not turn.calls:
            return {"role": turn.role, "content": text}
        if not self.native:
            spelled = self.spelled([(call.name, template.plain(_compact(call.arguments))) for call in turn.calls])
            return {"role": "assistant", "content": f"{text}\n{spelled}" if text else spelled}
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _guarded(_decoded(call.arguments), template)},
            }
            for call in turn.calls
        ]
        return {"role": "assistant", "content": text, "tool_calls": calls}


HERMES: Final = CallFormat(
    head='<tool_call>\n{"name": "',
    between='", "arguments": ',
    joint='}\n</tool_call>\n<tool_call>\n{"name": "',
    tail="}\n</tool_call>",
)


def find_call_format(template: ChatTemplate, eos: str) -> CallFormat:
    """The native spelling of this template, or `HERMES`. `eos`: text of the token that ends a message."""
    tool_role = _takes_tool_role(template)
    found = _native(template, eos) if _lists_tools(template) else None
    return msgspec.structs.replace(found or HERMES, tool_role=tool_role)


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lists_tools(template: ChatTemplate) -> bool:
    try:
        return _ONE in template.render([{"role": "user", "content": "u"}], [_tool(_ONE)], reply=True)
    except TemplateRefusal:
        return False


def _takes_tool_role(template: ChatTemplate) -> bool:
    """Whether a tool's message is shown, and not as what the user said."""
    call = {"role": "assistant", "content": "", "tool_calls": [_call(_ONE)]}
    shown = []
    for answer in (
        {"role": "tool", "content": _ANSWER, "name": _ONE, "tool_call_id": _ID},
        {"role": "user", "content": _ANSWER},
    ):
        try:
            shown.append(template.render([{"role": "user", "content": "u"}, call, answer], reply=True))
        except TemplateRefusal:
            shown.append("")
    return _ANSWER in shown[0] and shown[0] != shown[1]


def _native(template: ChatTemplate, eos: str) -> CallFormat | None:
    """None where the template's spelling of calls can't be read, or has ids in it that nobody could sample."""
    one = _example(template, (_ONE,), eos)
    if one is None or not one.starts[0].strip() or _ID in one.text:
        return None
    two = _example(template, (_ONE, _TWO), eos)
    joint = None
    if two is not None and (two.starts[0], two.between, two.tail) == (one.starts[0], one.between, one.tail):
        joint = two.starts[1]
    return CallFormat(
        head=one.starts[0],
        between=one.between,
        joint=joint or None,
        tail=one.tail,
        colon=": " if one.colon.endswith(" ") else ":",
        native=True,
    )


class _Example(msgspec.Struct, frozen=True):
    """Calls as the template spells them: what stands before each name, and around the arguments."""

    text: str
    starts: list[str]
    between: str
    tail: str
    colon: str


def _example(template: ChatTemplate, names: Sequence[str], eos: str) -> _Example | None:
    """The calls are not the last of the conversation, since templates treat the newest reply in their own ways."""
    user = {"role": "user", "content": "u"}
    calls = {"role": "assistant", "content": "", "tool_calls": [_call(name) for name in names]}
    answers = [{"role": "tool", "content": _ANSWER, "name": name, "tool_call_id": _ID} for name in names]
    tools = [_tool(_ONE), _tool(_TWO)]
    try:
        opening = template.render([user], tools, reply=True)
        text = template.render([user, calls, *answers, user], tools, reply=False)
    except TemplateRefusal:
        return None
    if not text.startswith(opening):
        return None
    text = text[len(opening) :]
    end = min((at for mark in (eos, *TURN_ENDS) if mark and (at := text.find(mark)) >= 0), default=-1)
    return _split(text[:end], names) if end >= 0 else None


def _split(text: str, names: Sequence[str]) -> _Example | None:
    starts: list[str] = []
    betweens: set[str] = set()
    colon, at = "", 0
    for name in names:
        where = text.find(name, at)
        arguments = _ARGUMENTS.search(text, where) if where >= 0 else None
        if arguments is None:
            return None
        starts.append(text[at:where])
        betweens.add(text[where + len(name) : arguments.start()])
        at, colon = arguments.end(), arguments[1]
    return _Example(text, starts, betweens.pop(), text[at:], colon) if len(betweens) == 1 else None


def _tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {_KEY: {"type": "string"}}}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


def _call(name: str) -> dict[str, Any]:
    return {"id": _ID, "type": "function", "function": {"name": name, "arguments": {_KEY: _VALUE}}}


def _decoded(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return {"input": arguments}


def _compact(arguments: str) -> str:
    """In the spelling that grammars demand."""
    return dumped(_decoded(arguments))


def _guarded(value: Any, template: ChatTemplate) -> Any:
    if isinstance(value, str):
        return template.plain(value)
    if isinstance(value, dict):
        return {template.plain(key): _guarded(each, template) for key, each in value.items()}
    if isinstance(value, list):
        return [_guarded(each, template) for each in value]
    return value
