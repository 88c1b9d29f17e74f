"""Writes `extensions/protocol.schema.json`, one JSON Schema of every shape and the table of methods, and the plugins'
types beside it.

`python -m lsp_server.protocol.schema` writes them, `--check` fails if what is there is not what would be written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from lsp_server.protocol import methods, typings
from lsp_server.protocol.methods import Method

FOLDER = Path(__file__).resolve().parents[2] / "extensions"


def schema() -> str:
    """The text of `protocol.schema.json`."""
    _, definitions = msgspec.json.schema_components(typings.kinds(), ref_template="#/$defs/{name}")
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Loopline's additions to the Language Server Protocol",
        "description": typings.HEADER,
        "version": methods.VERSION,
        **{name: {method.name: _described(method) for method in table} for name, table in typings.TABLES.items()},
        "clientFeatures": {"$ref": "#/$defs/ClientFeatures"},
        "$defs": {name: _without_indent(definitions[name]) for name in sorted(definitions)},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


TARGETS: Mapping[str, Callable[[], str]] = {
    "protocol.schema.json": schema,
    "vscode/src/protocol.ts": typings.typescript,
    "nvim/lua/loopline/protocol.lua": typings.lua,
}
"""What is written, by its path under `extensions/`."""


def main(arguments: list[str], folder: Path = FOLDER) -> int:
    """1 if something is stale and `--check` was given."""
    stale = {folder / name: text for name, build in TARGETS.items() if (text := build()) != _present(folder / name)}
    if "--check" in arguments:
        return 1 if stale else 0
    for path, text in stale.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


def _present(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _described(method: Method) -> dict[str, Any]:
    result = {"result": {"$ref": f"#/$defs/{method.result.__name__}"}} if method.result is not None else {}
    return {"params": {"$ref": f"#/$defs/{method.params.__name__}"}, **result}


def _without_indent(definition: dict[str, Any]) -> dict[str, Any]:
    """The description as running text."""
    if "description" in definition:
        definition = {**definition, "description": " ".join(definition["description"].split())}
    return definition


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
