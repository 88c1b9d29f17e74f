"""What is a command and what is a task."""

from __future__ import annotations

import pytest
from acp import schema

from lsp_server.acp.commands import Told, available, command_of


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/undo", Told("undo", "")),
        ("/compact", Told("compact", "")),
        ("  /redo\n", Told("redo", "")),
        ("/plan the move", Told("plan", "the move")),
        ("/plan a\nb", Told("plan", "a\nb")),
        ("/plan", None),
        ("/plan  ", None),
        ("/undo the last commit", None),
        ("/undone", None),
        ("/etc/hosts", None),
        ("undo", None),
        ("", None),
    ],
)
def test_command_of(said: str, told: Told | None) -> None:
    assert command_of(said) == told


def test_the_update_is_the_protocols() -> None:
    schema.AvailableCommandsUpdate.model_validate(available())
