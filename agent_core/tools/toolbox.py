"""The toolbox: the one door to the tools. Owns argument checks, and that nothing but cancellation ever gets out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import msgspec

from agent_core.errors import ToolError
from agent_core.tools.outputs import Outputs
from agent_core.tools.port import Kind, Tool, ToolContext, ToolResult, ToolSpec
from agent_core.tools.workspace.text import printable

log = logging.getLogger(__name__)

MAX_WIRE_BYTES = 4096
"""The definitions of the agent's own tools are sent with each call, so they stay within so many bytes of JSON."""


READING: frozenset[Kind] = frozenset({"read", "note", "mcp_read"})
"""Kinds of tools that change nothing."""

ASK = "ask"
APPLY_PATCH = "apply_patch"
"""The tool `patch` as some models are trained on it: the patch itself is the input, and no JSON."""


class Offer(msgspec.Struct, frozen=True):
    """Which of the tools a model is shown, and how. `free_form_patch`: `apply_patch` in place of `patch`.
    `reading_only`: none that may change anything. `asks`: somebody can answer what the model asks."""

    free_form_patch: bool = False
    reading_only: bool = False
    asks: bool = False


EVERYTHING = Offer()


class Closing(Protocol):
    """What tools hold (processes), to be told when the toolbox ends."""

    async def close(self) -> None: ...


class Source(Closing, Protocol):
    """Where more tools come from, once a turn needs them."""

    async def tools(self) -> Sequence[Tool]:
        """Those that there are now; bounded, never raises."""


class Background(Protocol):
    """Commands that go on after their call."""

    @property
    def count(self) -> int: ...

    def running_since(self, count: int) -> list[str]: ...
    async def stop_since(self, count: int) -> None: ...


class Toolbox:
    """`tools` in the order in which the model sees them; then come those of `source`. `closing` ends with the toolbox,
    in this order, and `source` last. `background` holds commands that go on, None: there are none. `confine` makes
    commands unable to write anything, or lets them again; None: nothing can, so that they are not run where only
    reading is allowed. `outputs` keeps what of a long output is not shown; None: all of it is shown."""

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        closing: Sequence[Closing] = (),
        source: Source | None = None,
        background: Background | None = None,
        confine: Callable[[bool], None] | None = None,
        outputs: Outputs | None = None,
    ) -> None:
        self._outputs = outputs
        self._background, self._confine = background, confine
        self._closing = tuple(closing) if source is None else (*closing, source)
        self._own, self._source = tuple(tools), source
        self._set(self._own)

    def _set(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in tools)
        self._wires: dict[Offer, bytes] = {}

    async def refresh(self) -> bool:
        """Ask the source for its tools; True if the model now sees others."""
        if self._source is None:
            return False
        before = self.wire_json()
        found = await self._source.tools()
        taken = {tool.spec.name for tool in self._own}
        self._set([*self._own, *(tool for tool in found if tool.spec.name not in taken)])
        return self.wire_json() != before

    def begun(self) -> int:
        """A mark for `stop_since`: how many commands went on in the background so far."""
        return self._background.count if self._background is not None else 0

    def running_since(self, mark: int) -> list[str]:
        """Names of the commands that went into the background since `mark` and still run."""
        return self._background.running_since(mark) if self._background is not None else []

    async def stop_since(self, mark: int) -> None:
        """End the commands that went into the background since `mark`; bounded."""
        if self._background is not None:
            await self._background.stop_since(mark)

    def wire_json(self, offer: Offer = EVERYTHING) -> bytes:
        """The JSON array of tools, the same bytes until `refresh` finds others."""
        if (wire := self._wires.get(offer)) is None:
            shown = [spec for spec in self.specs if self.offered(spec.name, offer)]
            wire = self._wires[offer] = msgspec.json.encode([_wire_form(spec, offer) for spec in shown])
        return wire

    def offered(self, name: str, offer: Offer) -> bool:
        """Whether a tool is among those that are shown; what is not is not run either. An unknown one is, so that its
        call is answered with what there is."""
        spec = self._tools[name].spec if name in self._tools else None
        if spec is not None and name == ASK and not offer.asks:
            return False
        if spec is None or not offer.reading_only or spec.kind in READING:
            return True
        return spec.kind == "command" and self._confine is not None and name != "process"

    @contextmanager
    def reading_only(self, on: bool) -> Iterator[None]:
        """Commands that start meanwhile can write nothing but scratch files, if `on`."""
        if not on or self._confine is None:
            yield
            return
        self._confine(True)
        try:
            yield
        finally:
            self._confine(False)

    def kind(self, name: str) -> Kind | None:
        """What a tool may do; None for an unknown name."""
        tool = self._tools.get(name)
        return tool.spec.kind if tool else None

    async def run(self, name: str, arguments_json: str, context: ToolContext) -> ToolResult:
        """Run a tool. Everything that goes wrong is a result with status "error"; only CancelledError is raised."""
        try:
            tool = self._find(name)
            arguments = checked_arguments(tool.spec, arguments_json)
            result = await tool.run(arguments, context)
        except ToolError as error:
            return failure(error)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            return failure(ToolError(f"{name}: {reason.lower()}", code="system"))
        except Exception as error:
            log.error("tool %s failed with %s", name, type(error).__name__)
            return failure(ToolError(f"{name}: internal error ({type(error).__name__})", code="internal"))
        result = _cleaned(result)
        if self._outputs is None or name == "read":  # which tells itself how to go on
            return result
        shown = self._outputs.shown(result.output)
        return result if shown is result.output else msgspec.structs.replace(result, output=shown)

    async def close(self) -> None:
        """End what the tools hold. Call once; the toolbox can't be used afterwards."""
        for held in self._closing:
            await held.close()

    def _find(self, name: str) -> Tool:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolError(f"there is no tool {name[:80]!r}; there are {', '.join(self._tools)}", code="unknown_tool")
        return tool


def failure(error: ToolError) -> ToolResult:
    """A refusal as a result for the model. `data.code` is the error's code."""
    message = printable(error.message)
    return ToolResult(
        output=f"error: {message}", status="error", summary=message.split("\n", 1)[0], data={"code": error.code}
    )


def checked_arguments(spec: ToolSpec, arguments_json: str) -> dict[str, Any]:
    """The arguments as a mapping that fits `spec.parameters`; optional ones given as null are left out. Those of a
    foreign tool are taken as they are.

    Raises ToolError `bad_arguments` that names the argument, what was expected, and what the tool takes.
    """
    try:
        decoded = msgspec.json.decode(arguments_json or "{}")
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise _bad(spec, f"the arguments are not JSON ({error})") from error
    if not isinstance(decoded, dict):
        raise _bad(spec, "the arguments are not a JSON object")
    if spec.foreign:
        return decoded
    properties: Mapping[str, Any] = spec.parameters["properties"]
    arguments: dict[str, Any] = {}
    for key, value in decoded.items():
        if key not in properties:
            raise _bad(spec, f"unknown argument {key[:80]!r}")
        if value is not None:
            arguments[key] = _fitting(spec, key, value, properties[key])
    for key in spec.parameters.get("required", ()):
        if key not in arguments:
            raise _bad(spec, f"{key!r} is missing")
    return arguments


def _fitting(spec: ToolSpec, key: str, value: Any, schema: Mapping[str, Any]) -> Any:
    expected = schema["type"]
    if expected == "string":
        if isinstance(value, str):
            return value
    elif expected == "integer":
        number = _integer(value)
        if number is not None:
            low, high = schema.get("minimum"), schema.get("maximum")
            if (low is not None and number < low) or (high is not None and number > high):
                raise _bad(
                    spec, f"{key!r} is {number}; it goes from {low} to {high if high is not None else 'any number'}"
                )
            return number
    elif expected == "boolean":
        if isinstance(value, bool):
            return value
    elif expected == "array" and isinstance(value, list):
        return [_fitting(spec, f"{key}[{index}]", item, schema["items"]) for index, item in enumerate(value)]
    raise _bad(spec, f"{key!r} must be {_article(expected)}, got {_name_of(value)}")


def _integer(value: Any) -> int | None:
    """Models write 5, 5.0 and "5" for the same number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) < 20 and value.strip().removeprefix("-").isdecimal():
        return int(value)
    return None


def _bad(spec: ToolSpec, problem: str) -> ToolError:
    required = spec.parameters.get("required", ())
    takes = ", ".join(key if key in required else f"{key}?" for key in spec.parameters["properties"])
    return ToolError(f"{spec.name}: {problem}; it takes {{{takes}}}", code="bad_arguments")


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _name_of(value: Any) -> str:
    names = {
        str: "a string",
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "null")


def _wire_form(spec: ToolSpec, offer: Offer) -> dict[str, Any]:
    if offer.free_form_patch and spec.name == "patch":
        return {"type": "custom", "name": APPLY_PATCH, "description": spec.description}
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": dict(spec.parameters),
        "strict": False,
    }


def _cleaned(result: ToolResult) -> ToolResult:
    """Texts that any JSON encoder takes."""
    output, summary, diff = printable(result.output), printable(result.summary), printable(result.diff)
    if (output, summary, diff) == (result.output, result.summary, result.diff):
        return result
    return msgspec.structs.replace(result, output=output, summary=summary, diff=diff)
