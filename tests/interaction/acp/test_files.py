"""The client's file system: unsaved text wins, every write is read again, and what it can't carry is written by us."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.support.acp.client import AcpClient, Json, agent
from tests.support.lsp.puppet import Puppet, puppet, puppet_env, steps

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]

READ: Json = {"call": "read", "args": {"path": "a.txt"}}


def edit(old: str, new: str) -> Json:
    return {"call": "edit", "args": {"path": "a.txt", "old": old, "new": new}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[AcpClient, Puppet]]:
    home = tmp_path_factory.mktemp("home")
    async with puppet() as model, agent(puppet_env(home, model)) as client:
        await client.initialize(reads=True, writes=True)
        yield client, model


def writes(client: AcpClient) -> list[str]:
    return [each["params"]["path"] for each in client.asked if each["method"] == "fs/write_text_file"]


async def test_unsaved_text_is_what_is_read_and_edited(editor: tuple[AcpClient, Puppet], tmp_path: Path) -> None:
    client, model = editor
    place = tmp_path / "a.txt"
    place.write_text("on disk\n")
    client.files[str(place)] = "in the editor\n"
    session = await client.new(tmp_path)
    await client.prompt(session, steps(READ, edit("in the editor", "by the agent"), {"text": "Done."}))
    assert "in the editor" in model.outputs[-2] and "on disk" not in model.outputs[-2]
    assert client.files[str(place)] == place.read_text() == "by the agent\n"
    assert writes(client)[-1] == str(place)


async def test_a_clean_file_is_written_by_the_client_too(editor: tuple[AcpClient, Puppet], tmp_path: Path) -> None:
    client, _ = editor
    place = tmp_path / "a.txt"
    place.write_text("one\n")
    session = await client.new(tmp_path)
    await client.prompt(session, steps(READ, edit("one", "two"), {"text": "Done."}))
    assert place.read_text() == "two\n" and writes(client)[-1] == str(place)


async def test_a_write_that_the_client_does_not_show_is_no_write(
    editor: tuple[AcpClient, Puppet], tmp_path: Path
) -> None:
    client, model = editor
    place = tmp_path / "a.txt"
    place.write_text("one\n")

    async def forgets(params: Json) -> Json:
        return {}

    kept = client.handlers["fs/write_text_file"]
    client.handlers["fs/write_text_file"] = forgets
    try:
        session = await client.new(tmp_path)
        await client.prompt(session, steps(READ, edit("one", "two"), {"text": "Done."}))
    finally:
        client.handlers["fs/write_text_file"] = kept
    assert place.read_text() == "one\n" and "did not show" in model.outputs[-1]
    assert client.of(session, "tool_call_update")[-1]["status"] == "failed"


async def test_typing_in_between_is_not_overwritten(editor: tuple[AcpClient, Puppet], tmp_path: Path) -> None:
    client, model = editor
    place = tmp_path / "a.txt"
    place.write_text("one\n")
    reads = 0
    kept = client.handlers["fs/read_text_file"]

    async def typed(params: Json) -> Json:
        nonlocal reads
        reads += 1
        if reads >= 3:  # once for the read, once for the edit, then right before it is written
            client.files[str(place)] = "one and more\n"
        return await kept(params)

    client.handlers["fs/read_text_file"] = typed
    try:
        session = await client.new(tmp_path)
        await client.prompt(session, steps(READ, edit("one", "two"), {"text": "Done."}))
    finally:
        client.handlers["fs/read_text_file"] = kept
    assert client.files[str(place)] == "one and more\n" and place.read_text() == "one\n"
    assert "changed in the editor" in model.outputs[-1]


@pytest.mark.parametrize("data", [b"caf\xe9 one\n", b"\xef\xbb\xbfone\n"], ids=["latin-1", "bom"])
async def test_what_the_client_would_spoil_is_written_by_us(
    editor: tuple[AcpClient, Puppet], tmp_path: Path, data: bytes
) -> None:
    client, _ = editor
    place = tmp_path / "a.txt"
    place.write_bytes(data)
    before = len(writes(client))
    session = await client.new(tmp_path)
    await client.prompt(session, steps(READ, edit("one", "two"), {"text": "Done."}))
    assert place.read_bytes() == data.replace(b"one", b"two") and len(writes(client)) == before


async def test_secret_files_are_never_asked_for(editor: tuple[AcpClient, Puppet], tmp_path: Path) -> None:
    client, model = editor
    (tmp_path / ".env").write_text("KEY=1\n")
    before = len(client.asked)
    session = await client.new(tmp_path)
    await client.prompt(session, steps({"call": "read", "args": {"path": ".env"}}, {"text": "Done."}))
    assert "secret" in model.outputs[-1] and len(client.asked) == before


async def test_a_client_without_files_is_asked_for_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with puppet() as model, agent(puppet_env(tmp_path / "home", model)) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        ended = await asyncio.wait_for(client.prompt(session, steps(READ, edit("one", "two"), {"text": "."})), 60)
        assert ended["stopReason"] == "end_turn" and client.asked == []
        assert "open_documents" not in model.tools
    assert (tmp_path / "a.txt").read_text() == "two\n"
