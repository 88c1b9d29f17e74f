"""`--output-schema FILE`: a file that is none is named at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_core.cli.run import MAX_SCHEMA_BYTES, read_schema
from agent_core.errors import UsageError


@pytest.mark.parametrize("kind", ["pipe", "endless", "loop", "folder", "none", "deep", "long", "list", "bytes", "cut"])
def test_what_is_no_schema_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "schema.json"
    texts = {
        "deep": b'{"a":' * 200_000, "long": b" " * MAX_SCHEMA_BYTES + b"{}", "list": b"[]", "bytes": b'{"a": "\xff"}',
        "cut": b"{",
    }  # fmt: skip
    if kind in texts:
        file.write_bytes(texts[kind])
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind != "none":
        file.symlink_to("/dev/zero" if kind == "endless" else file.name)
    with pytest.raises(UsageError, match=r"schema\.json"):
        read_schema(file)


def test_a_link_of_the_users_counts(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text('{"type": "object"}')
    (tmp_path / "schema.json").symlink_to("kept.json")
    assert read_schema(tmp_path / "schema.json") == {"type": "object"}
