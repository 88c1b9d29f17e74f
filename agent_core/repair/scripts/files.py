"""Reads, lists, searches or edits files for a client that has only a shell. Prints one line of facts at the end."""

# Sent as text to interpreters that may be older: short beats modern.
# ruff: noqa: PTH101, PTH105, PTH109, PTH116, PTH118, PTH119, PTH120, PTH123, UP031

from __future__ import annotations

import fnmatch
import json
import os
import re
import tempfile
from collections.abc import Iterator
from typing import Any

JOB: dict[str, Any] = {}

SKIPPED = {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox"}


def inside(path: str) -> str:
    """The path, if it is in the working folder. Raises ValueError elsewhere."""
    full = os.path.realpath(path)
    root = os.path.realpath(os.getcwd())
    if full != root and not full.startswith(root + os.sep):
        raise ValueError(path + " is outside the workspace")
    return full


def walk(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.endswith("_cache"))
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), os.getcwd())


def read_text(path: str) -> str:
    with open(inside(path), encoding="utf-8", newline="") as file:
        return file.read()


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    text = read_text(path)
    if "\r\n" in text:
        old, new = old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    if text.count(old) != 1:
        return {"error": "the old text stands %d times in %s" % (text.count(old), path)}
    full = inside(path)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(full))
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text.replace(old, new))
    os.chmod(temporary, os.stat(full).st_mode & 0o7777)
    os.replace(temporary, full)
    return {"edited": path}


def facts() -> dict[str, Any]:
    do = JOB["do"]
    if do == "read":
        lines = read_text(JOB["path"]).replace("\r\n", "\n").split("\n")
        total = len(lines) - (lines[-1] == "")
        first, last = JOB["start"], min(JOB["end"] or total, total, JOB["start"] + 599)
        return {"first": first, "last": last, "total": total, "text": "\n".join(lines[first - 1 : last])}
    if do == "list":
        depth = JOB["path"].count("/") + JOB["depth"]
        return {"paths": [path for path in walk(inside(JOB["path"])) if path.count("/") < depth][:400]}
    if do == "search":
        found = []
        for path in walk(os.getcwd()):
            if fnmatch.fnmatch(os.path.basename(path), JOB["glob"]):
                try:
                    lines = read_text(path).splitlines()
                except (OSError, ValueError):
                    continue
                found += [[path, at, line[:200]] for at, line in enumerate(lines, 1) if re.search(JOB["pattern"], line)]
        return {"found": found[:60]}
    return edit(JOB["path"], JOB["old"], JOB["new"])


def main() -> None:
    try:
        result = facts()
    except (OSError, ValueError) as error:
        result = {"error": str(error)}
    print("loopline: " + json.dumps(result))  # noqa: T201


if JOB:
    main()
