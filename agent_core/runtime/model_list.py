"""The list of models, `GET /v1/models`, in the forms in which servers give it. Pure.

OpenAI has `{"object": "list", "data": [{"id": …}]}`; Ollama and LM Studio list `models` with `name`, `model` or `key`,
Together a bare array, gateways names alone or a table by name. What names a model is taken for its id.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from agent_core.text import lenient_json, sound

_LISTS: Final = ("data", "models", "result", "results", "items", "list", "model_list", "body", "response")
"""Under which a list stands, the likelier first: llama.cpp gives the same models as `models` and as `data`."""

_NAMES: Final = ("id", "name", "model", "key", "slug", "model_id", "model_name", "modelId")

_DEEPEST: Final = 3
_OURS: Final = frozenset({"tools", "chat"})
"""What a statement of capabilities has that speaks our words; those of others say nothing here."""


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`capabilities` is None where the service does not say; that says nothing against the model."""

    id: str
    capabilities: dict[str, bool] | None = None


def read_models(data: bytes) -> list[ModelEntry]:
    """The models of an answer, each once, in its order. Raises ValueError where it holds no list of anything."""
    found = _listed(lenient_json(data.removeprefix(codecs.BOM_UTF8)), 0)
    if found is None:
        raise ValueError("no list of models")
    entries: dict[str, ModelEntry] = {}
    for entry in found:
        entries.setdefault(entry.id, entry)
    return list(entries.values())


def _listed(value: Any, depth: int) -> list[ModelEntry] | None:
    """The models of a list, or of the first of the usual fields that has some; None where there is no list."""
    if isinstance(value, list):
        return list(_entries(value))
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    empty: list[ModelEntry] | None = None
    for name in _LISTS:
        inner = value.get(name)
        found = _listed(inner, depth + 1)
        if not found and isinstance(inner, dict) and name in ("data", "models"):
            found = list(_by_name(inner)) or found
        if found:
            return found
        empty = found if empty is None else empty
    return empty


def _entries(rows: list[Any]) -> Iterator[ModelEntry]:
    for row in rows:
        name = _name(row)
        if name:
            stated = row.get("capabilities") if isinstance(row, dict) else None
            yield ModelEntry(id=name, capabilities=_capabilities(stated))


def _by_name(table: dict[str, Any]) -> Iterator[ModelEntry]:
    """A table whose keys are the names."""
    for name, row in table.items():
        if isinstance(row, dict):
            yield ModelEntry(id=sound(name), capabilities=_capabilities(row.get("capabilities")))


def _name(row: Any) -> str:
    """What a row calls its model, "" for nothing."""
    if isinstance(row, str):
        return sound(row)
    for field in _NAMES if isinstance(row, dict) else ():
        value = row.get(field)
        if isinstance(value, str) and value.strip():
            return sound(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return ""


def _capabilities(stated: Any) -> dict[str, bool] | None:
    if not isinstance(stated, dict) or not stated.keys() >= _OURS:
        return None
    return {str(name): value is True for name, value in stated.items()}
