"""One sensible example of every kind that the wire schema knows, all its fields filled in.

`python -m tests.support.wire.samples` writes those that are missing into `tests/golden/wire`; a file that exists is
never touched, so that a change of meaning shows as a failing test and not as a new file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from agent_core.wire.schema import Array, Choice, Fields, Map, Ref, Scalar, Schema, Spec, load_schema, members

GOLDEN = Path(__file__).parents[2] / "golden" / "wire"

_STRINGS = {
    "arguments": '{"path":"src/app.py"}',
    "call_id": "call_7f3a",
    "delta": "Hel",
    "encrypted_content": "gAAAAB==",
    "id": "id_0c41",
    "image_url": "data:image/png;base64,iVBORw0KGgo=",
    "input": "*** Begin Patch\n*** End Patch\n",
    "item_id": "msg_0c41",
    "message": "Something is wrong.",
    "model": "repair",
    "name": "read",
    "namespace": "files",
    "object": "response",
    "path": "src/app.py",
    "previous_response_id": "resp_05d2",
    "response_id": "resp_05d2",
    "stream_id": "lane-1",
    "text": "Größe: 3 < 4\n\u2028end",
    "url": "https://example.org/a?b=1",
}
_NUMBERS: dict[str, float] = {
    "created_at": 1764490000,
    "completed_at": 1764490002,
    "sequence_number": 12,
    "status": 400,
    "temperature": 0.7,
    "top_p": 0.95,
    "logprob": -0.31,
}
_JSON_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_OBJECTS: dict[str, Any] = {"parameters": _JSON_SCHEMA, "input_schema": _JSON_SCHEMA, "schema": _JSON_SCHEMA}
_PREFERRED = ("ResponseOutputMessage", "FunctionTool", "ResponseInputText", "ResponseOutputText", "EasyInputMessage")


class Samples:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def all(self) -> dict[str, dict[str, Any]]:
        """Golden file name without suffix -> the example."""
        schema = self._schema
        found: dict[str, dict[str, Any]] = {}
        for tag, fields in schema.server_events.items():
            found[f"event.{tag}"] = self._object(fields, tag)
        for tag, fields in schema.client_events.items():
            found[f"client.{tag}"] = self._object(fields, tag)
        for tag, variants in schema.items.items():
            found[f"item.{tag}"] = self._object(schema.merged(tag, variants), tag)
        for tag, variants in schema.parts.items():
            found[f"part.{tag}"] = self._object(schema.merged(tag, variants), tag)
        for tag, variants in schema.tools.items():
            found[f"tool.{tag}"] = self._object(schema.merged(tag, variants), tag)
        return found

    def _object(self, fields: Fields, tag: str | None) -> dict[str, Any]:
        """`type` first, as services write it."""
        made = {name: self._value(name, field.spec) for name, field in fields.items() if name != "type"}
        return made if "type" not in fields else {"type": tag or self._value("type", fields["type"].spec), **made}

    def _value(self, name: str, spec: Spec) -> Any:
        choices = [m for m in members(spec) if m != Scalar("null")]
        refs = [m for m in choices if isinstance(m, Ref)]
        if refs:
            names = [ref.name for ref in refs]
            chosen = next((n for n in _PREFERRED if n in names), names[0])
            return self._object(self._schema.types[chosen], None)
        for part in choices:
            if isinstance(part, Array):
                return [self._value(name, part.item)]
        first = Scalar("str") if Scalar("str") in choices and name in _STRINGS else choices[0]
        if isinstance(first, Choice):
            return first.values[0]
        if isinstance(first, Map):
            return _OBJECTS.get(name) or {"key": self._value(name, first.value)}
        assert isinstance(first, Scalar)
        return self._scalar(name, first.name)

    def _scalar(self, name: str, kind: str) -> Any:
        match kind:
            case "str":
                return _STRINGS.get(name, f"{name} of it")
            case "int":
                return int(_NUMBERS.get(name, 3))
            case "float":
                return _NUMBERS.get(name, 0.5)
            case "bool":
                return True
        return _OBJECTS.get(name, {"any": [1, 2.5, None, True, "é"]})


def main() -> int:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, sample in Samples(load_schema()).all().items():
        path = GOLDEN / f"{name}.json"
        if not path.exists():
            path.write_text(json.dumps(sample, indent=2, ensure_ascii=False) + "\n", "utf-8")
            sys.stdout.write(f"wrote {path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
