"""The model's own chat template, in a sandbox, as transformers and llama.cpp render it.

A user's text can't pass for the template's: where it spells a control token, `GUARD` is put into it, and who has it
tokenised cuts there, so that it is read as plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock, Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from agent_core.errors import EngineError
from agent_core.responses_server.engines.llama.gguf import Gguf

GUARD: Final = "\ufdd0"
"""A code point that Unicode keeps for uses like this (a noncharacter); in a user's text it is dropped."""

CHATML: Final = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""For models without a template of their own."""

WITH_TOOLS: Final = "tool_use"
"""Name of a second template that some models have for calls with tools."""


class TemplateRefusal(Exception):
    """The template does not take these messages."""


class ChatTemplate:
    """Renders messages. `special`: control tokens of the model's vocabulary."""

    def __init__(self, source: str, *, bos: str = "", eos: str = "", special: Iterable[str] = ()) -> None:
        self._variables: dict[str, Any] = {"bos_token": bos, "eos_token": eos, "documents": None}
        ordered = sorted(special, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        self.source = source
        try:
            self._template = _environment().from_string(source)
        except jinja2.TemplateError as error:
            raise EngineError(
                f"The model's chat template can't be read ({error}); the file needs another one.",
                code="engine_unavailable",
            ) from None

    @classmethod
    def of(cls, gguf: Gguf, *, with_tools: bool) -> ChatTemplate:
        """The template that the file has for calls with or without tools."""
        usual = gguf.templates.get("", CHATML)
        source = gguf.templates.get(WITH_TOOLS, usual) if with_tools else usual
        return cls(source, bos=gguf.bos, eos=gguf.eos, special=gguf.special)

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        variables: Mapping[str, Any] | None = None,
        *,
        reply: bool,
    ) -> str:
        """The text of `messages`; `reply`: with the head of the assistant's next message. Raises TemplateRefusal."""
        try:
            return self._template.render(
                {
                    **self._variables,
                    **(variables or {}),
                    "messages": messages,
                    "tools": tools or None,
                    "add_generation_prompt": reply,
                }
            )
        except TemplateRefusal:
            raise
        except (jinja2.TemplateError, TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
            raise TemplateRefusal(f"{type(error).__name__}: {error}") from None

    def plain(self, text: str) -> str:
        """`text` with no control token in it."""
        text = text.replace(GUARD, "")
        if self._control is None:
            return text
        return self._control.sub(lambda found: found[0][0] + GUARD + found[0][1:], text)


def _environment() -> jinja2.Environment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _GenerationBlocks]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment


class _GenerationBlocks(Extension):
    """`{% generation %}` marks the assistant's text for training; here it only holds its content."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    def _same(self, caller: Any) -> str:
        return str(caller())


def _refuse(message: str) -> str:
    raise TemplateRefusal(message)


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None,
             sort_keys: bool = False) -> str:  # fmt: skip
    """As transformers has it: no HTML escapes, keys in their order."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
