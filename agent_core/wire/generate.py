"""Development tool: writes `generated/` from `schema.json`, and holds the schema against the vendor's SDK.

python -m agent_core.wire.generate              write the generated modules
python -m agent_core.wire.generate --check      exit 1 if they are stale
python -m agent_core.wire.generate --diff-sdk   what the installed `openai` SDK has that schema.json has not, and
                                                the other way round; exit 1 on a difference, 2 without an SDK
python -m agent_core.wire.generate --from-sdk   take the vendor part of schema.json from the installed SDK
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from agent_core.wire.codegen import Generator
from agent_core.wire.schema import SCHEMA_PATH, load_schema
from agent_core.wire.vendor_sdk import SdkMissing, read_vendor

_ALTERNATIVE = re.compile(r'"[^"]*"|[\w.]+|\?$')

GENERATED = SCHEMA_PATH.with_name("generated")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m agent_core.wire.generate", description="The wire structs.")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="exit 1 if the generated modules are stale")
    group.add_argument("--diff-sdk", action="store_true", help="compare schema.json with the installed openai SDK")
    group.add_argument("--from-sdk", action="store_true", help="refresh schema.json from the installed openai SDK")
    args = parser.parse_args(argv)
    if args.diff_sdk or args.from_sdk:
        try:
            vendor = read_vendor()
        except SdkMissing as exc:
            _say(f"openai is not installed in this interpreter ({exc}).")
            return 2
        return _diff(vendor) if args.diff_sdk else _refresh(vendor)
    stale = stale_modules()
    if args.check:
        for name in stale:
            _say(f"generated/{name} is stale: run python -m agent_core.wire.generate")
        return 1 if stale else 0
    GENERATED.mkdir(exist_ok=True)
    for name, text in stale.items():
        (GENERATED / name).write_text(text, "utf-8")
        _say(f"wrote generated/{name}")
    return 0


def stale_modules() -> dict[str, str]:
    """File name -> right text, of the generated modules that differ from the schema."""
    modules = Generator(load_schema()).modules()
    return {name: text for name, text in modules.items() if _present(name) != text}


def _present(name: str) -> str | None:
    path = GENERATED / name
    return path.read_text("utf-8") if path.exists() else None


def _diff(vendor: dict[str, Any]) -> int:
    ours = json.loads(SCHEMA_PATH.read_bytes())["vendor"]
    _say(f"schema.json: {ours['sdk']}, installed: {vendor['sdk']}")
    changes = list(differences(ours, vendor))
    for line in changes:
        _say(line)
    _say(f"{len(changes)} differences")
    return 1 if changes else 0


def _refresh(vendor: dict[str, Any]) -> int:
    schema = json.loads(SCHEMA_PATH.read_bytes())
    schema["vendor"] = vendor
    SCHEMA_PATH.write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n", "utf-8")
    _say(f"schema.json now states {vendor['sdk']}; write the modules next")
    return 0


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    """One line per event, item, tool, type or field that was added, removed or changed, but for the SDK's version."""
    for section in {**ours, **theirs}:
        if section != "sdk":
            yield from _compare(section, ours.get(section, {}), theirs.get(section, {}))


def _compare(where: str, ours: Any, theirs: Any) -> Iterator[str]:
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        if ours != theirs:
            yield f"changed {where}: {_change(ours, theirs)}"
        return
    for name in ours:
        if name in theirs:
            yield from _compare(f"{where} {name}", ours[name], theirs[name])
        else:
            yield f"removed {where} {name}"
    for name in theirs:
        if name not in ours:
            yield f"added {where} {name}"


def _change(ours: Any, theirs: Any) -> str:
    """What a type lost (-) and got (+), alternative by alternative; `?` is the mark of a field that may be absent."""
    before, after = (_ALTERNATIVE.findall(str(text)) for text in (ours, theirs))
    lost = [f"-{one}" for one in before if one not in after]
    got = [f"+{one}" for one in after if one not in before]
    return " ".join([*lost, *got]) or f"{ours} -> {theirs}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
