"""Development tool: read the wire facts out of an installed `openai` SDK, in the form of `schema.json`'s `vendor` part.

Only `generate.py` uses this, and only when asked to compare or refresh; nothing of the product imports the SDK. Types
are written in the small language that `schema.py` describes.
"""

from __future__ import annotations

import importlib
import types
import typing
from typing import Any

Fields = dict[str, str]
"""Field name -> type text."""

_SCALARS: dict[Any, str] = {str: "str", int: "int", float: "float", bool: "bool", object: "object", Any: "object"}


class SdkMissing(Exception):
    """`openai` can't be imported in this interpreter."""


def read_vendor() -> dict[str, Any]:
    """The `vendor` part as the installed SDK states it. Raises SdkMissing."""
    try:
        version = importlib.import_module("openai").__version__
    except ImportError as exc:
        raise SdkMissing(str(exc)) from exc
    reader = _Reader()

    def union(module: str, name: str) -> list[Any]:
        found = getattr(importlib.import_module(f"openai.types.responses.{module}"), name)
        return reader.members(found)

    events = union("responses_server_event", "ResponsesServerEvent")
    creates = union("responses_client_event", "ResponsesClientEvent")
    outputs = union("response_output_item", "ResponseOutputItem")
    inputs = union("response_input_item", "ResponseInputItem")
    tools = union("tool", "Tool")
    for model in (*events, *creates, *outputs, *inputs, *tools):
        reader.visit(model)
    reader.name_types()
    return {
        "sdk": f"openai-python {version}",
        "server_events": {tag: reader.fields(m) for m in events for tag in reader.tags(m)},
        "client_events": {tag: reader.fields(m) for m in creates for tag in reader.tags(m)},
        "output_items": reader.by_tag(outputs),
        "input_items": reader.by_tag(inputs),
        "tools": {tag: names[0] for tag, names in reader.by_tag(tools).items()},
        "types": reader.named_types(exclude=(*events, *creates)),
    }


class _Reader:
    """Walks pydantic models once and gives each distinct shape one name."""

    def __init__(self) -> None:
        self._models: list[Any] = []
        self._names: dict[Any, str] = {}

    def members(self, annotation: Any) -> list[Any]:
        """The models of a union, without null, aliases and Annotated unwrapped."""
        return [part for part in _flat(annotation) if part is not type(None)]

    def visit(self, annotation: Any) -> None:
        annotation = _bare(annotation)
        if _is_model(annotation):
            if annotation not in self._models:
                self._models.append(annotation)
                for field in annotation.model_fields.values():
                    self.visit(field.annotation)
            return
        if typing.get_origin(annotation) is not typing.Literal:
            for arg in typing.get_args(annotation):
                self.visit(arg)

    def name_types(self) -> None:
        """Plain class names; those that stand for several shapes are qualified with their module."""
        self._names = {m: m.__name__ for m in self._models}
        shapes: dict[str, set[str]] = {}
        for model in self._models:
            shapes.setdefault(model.__name__, set()).add(repr(sorted(self.fields(model).items())))
        for model in self._models:
            if len(shapes[model.__name__]) > 1:
                self._names[model] = f"{model.__module__.rsplit('.', 1)[-1]}.{model.__name__}"

    def named_types(self, exclude: tuple[Any, ...]) -> dict[str, Fields]:
        named = {self._names[m]: self.fields(m) for m in self._models if m not in exclude}
        return dict(sorted(named.items()))

    def fields(self, model: Any) -> Fields:
        return {
            field.alias or name: self.text(field.annotation) + ("" if field.is_required() else "?")
            for name, field in model.model_fields.items()
        }

    def tags(self, model: Any) -> list[str]:
        literal = model.model_fields["type"].annotation
        return [str(v) for part in self.members(literal) for v in typing.get_args(_bare(part))]

    def by_tag(self, models: list[Any]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for model in models:
            for tag in self.tags(model):
                found.setdefault(tag, []).append(self._names[model])
        return {tag: sorted(names) for tag, names in found.items()}

    def text(self, annotation: Any) -> str:
        annotation = _bare(annotation)
        origin, args = typing.get_origin(annotation), typing.get_args(annotation)
        if annotation in _SCALARS:
            return _SCALARS[annotation]
        if annotation is type(None):
            return "null"
        if origin is typing.Literal:
            return "|".join(f'"{value}"' for value in args)
        if origin in (typing.Union, types.UnionType):
            parts = {self.text(part) for part in _flat(annotation)}
            return " | ".join(sorted(parts, key=lambda p: (p == "null", p == "str", p)))
        if origin in (list, typing.Iterable):
            return f"array<{self.text(args[0])}>"
        if origin is dict:
            return f"map<str,{self.text(args[1])}>"
        if _is_model(annotation):
            return self._names.get(annotation, str(annotation.__name__))
        raise TypeError(f"no rule for {annotation!r}")


def _bare(annotation: Any) -> Any:
    """`annotation` without type aliases and Annotated."""
    while True:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation


def _flat(annotation: Any) -> list[Any]:
    """The members of a union and of the unions in it."""
    annotation = _bare(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [part for arg in typing.get_args(annotation) for part in _flat(arg)]
    return [annotation]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and hasattr(annotation, "model_fields")
