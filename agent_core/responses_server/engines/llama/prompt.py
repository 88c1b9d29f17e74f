"""From a request to the text that the model reads, and to what it may write. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agent_core.errors import EngineError
from agent_core.responses_server.engine import EngineRequest
from agent_core.responses_server.engines.chat_turns import FlatTools, Turn, chat_turns
from agent_core.responses_server.engines.llama.call_format import CallFormat, find_call_format
from agent_core.responses_server.engines.llama.gguf import Gguf
from agent_core.responses_server.engines.llama.grammar import THINK_CLOSE, THINK_OPEN, demand_of, grammar_for
from agent_core.responses_server.engines.llama.template import ChatTemplate, TemplateRefusal

_UNTHINKING = ("none", "minimal")


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """`thinking`: `text` ends inside of reasoning. `grammar` None: anything may be written.

    `marks`: control tokens that the reader of the answer has to see.
    """

    text: str
    form: CallFormat
    tools: FlatTools
    thinking: bool
    grammar: str | None
    marks: list[str]


class Prompter:
    """Of one model. `variables`: what the user has set for the template."""

    def __init__(self, gguf: Gguf, variables: Mapping[str, Any]) -> None:
        self._gguf, self._variables = gguf, variables
        self._plain = ChatTemplate.of(gguf, with_tools=False)
        self._with_tools = ChatTemplate.of(gguf, with_tools=True)
        self._form = form = find_call_format(self._with_tools, gguf.eos)
        spelling = "".join((form.head, form.between, form.joint or "", form.tail, THINK_OPEN, THINK_CLOSE))
        self._marks = [text for text in gguf.special if text in spelling]

    def prompt(self, request: EngineRequest) -> Prompt:
        """The prompt for an answer. Raises EngineError for what the model can't read or be held to."""
        tools = FlatTools(request.tools)
        text = self._text(request, reply=True)
        thinking = text.rstrip().endswith(THINK_OPEN)
        demand = demand_of(
            tools,
            must_call=request.must_call,
            at_most=request.max_tool_calls,
            text_format=request.text_format,
            thinks=THINK_OPEN in self._with_tools.source,
            thinking=thinking,
        )
        ends = [self._gguf.special[self._gguf.eos]] if self._gguf.eos in self._gguf.special else []
        grammar = grammar_for(demand, self._form, self._gguf.special, ends)
        return Prompt(text=text, form=self._form, tools=tools, thinking=thinking, grammar=grammar, marks=self._marks)

    def plain(self, text: str) -> str:
        """`text` as the template's renderings have it: with guards in what looks like a control token."""
        return self._plain.plain(text)

    def beginning(self, request: EngineRequest) -> str:
        """What every answer to this conversation begins with; "" where the template won't say it without a user."""
        try:
            return self._text(request, reply=False)
        except EngineError:
            return ""

    def _text(self, request: EngineRequest, *, reply: bool) -> str:
        turns = chat_turns(request.instructions, request.items)
        if not all(turn.is_text for turn in turns):
            raise EngineError("The model reads text only; leave images and files out.", code="unsupported_content")
        offered = FlatTools(request.offered or request.tools)
        listed = [_listed(name, offered) for name in offered.by_name]
        template = self._with_tools if listed else self._plain
        variables = {**self._reasoning(request), **self._variables}
        text = self._rendered(template, turns, listed, variables, reply=reply)
        gguf = self._gguf
        return gguf.bos + text if gguf.adds_bos and gguf.bos and not text.startswith(gguf.bos) else text

    def _rendered(
        self,
        template: ChatTemplate,
        turns: list[Turn],
        listed: Sequence[Mapping[str, Any]],
        variables: Mapping[str, Any],
        *,
        reply: bool,
    ) -> str:
        """As the messages are; else folded into what every template takes."""
        native = listed if self._form.native else None
        messages = self._form.messages(turns, listed, template)
        try:
            return template.render(messages, native, variables, reply=reply)
        except TemplateRefusal:
            pass
        try:
            return template.render(_folded(messages), native, variables, reply=reply)
        except TemplateRefusal as refusal:
            message = f"The model's chat template does not take this conversation: {refusal}"
            raise EngineError(message[:400], code="invalid_prompt") from None

    @staticmethod
    def _reasoning(request: EngineRequest) -> dict[str, Any]:
        """The names under which the common templates know the effort."""
        effort = (request.reasoning or {}).get("effort")
        if effort is None:
            return {}
        return {"reasoning_effort": effort, "enable_thinking": effort not in _UNTHINKING}


def _listed(name: str, tools: FlatTools) -> dict[str, Any]:
    tool = tools.by_name[name]
    function = {"name": name, "description": tool.description, "parameters": tools.schema(name)}
    return {"type": "function", "function": function}


def _folded(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without system messages, and with roles that take turns: for templates that insist on it."""
    folded: list[dict[str, Any]] = []
    for message in messages:
        role = "user" if message["role"] == "system" else message["role"]
        last = folded[-1] if folded else None
        if last is not None and last["role"] == role and role in ("user", "assistant") and "tool_calls" not in last:
            folded[-1] = {**last, **message, "role": role, "content": f"{last['content']}\n\n{message['content']}"}
        else:
            folded.append({**message, "role": role})
    return folded
