"""An editor that says `applied: true` and shows its change late, or never: the edit is unconfirmed until it is seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lsp_server.documents import edits
from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import Json, LspClient, Wire
from tests.support.lsp.editor import Buffer, Editor
from tests.support.lsp.inside import Inside, inside
from tests.support.lsp.puppet import Puppet, steps
from tests.support.system.waiting import eventually

EDIT = {"call": "edit", "args": {"path": "other.py", "old": "x = 1", "new": "x = 2"}}
READ = {"call": "read", "args": {"path": "other.py"}}
DONE = {"text": "done"}
CODE = "a = 0\n\nb = 0\n\nx = 1\n"
CAME = "unconfirmed; it is in the text now: other.py"


class Inner(Wire):
    """Messages to and from a server in this process, so that a test can say how long it waits."""

    def __init__(self, server: Inside) -> None:
        self._server = server
        self._out: asyncio.Queue[bytes] = asyncio.Queue()
        server.server.protocol.pack = self._keep

    def _keep(self, body: bytes) -> bytes:
        self._out.put_nowait(body)
        return body

    async def send(self, body: bytes) -> None:
        self._server.tell(body)

    async def receive(self) -> bytes | None:
        return await self._out.get()

    async def close(self) -> None:
        return None


@pytest.fixture
async def late(
    tmp_path: Path, root: Path, options: Json, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Editor]:
    """An editor that holds its changes back until `flush`; parametrized by what its plugin announces, if it has one."""
    (root / "other.py").write_text(CODE)
    monkeypatch.setattr(edits, "CONFIRM_S", 0.0)
    monkeypatch.setattr(edits, "LATE_S", 0.05)
    async with inside(tmp_path / "home") as server:
        client = with_answers(LspClient(Inner(server)))
        await client.initialize(root, options=options, experimental=getattr(request, "param", None))
        editor = Editor(client).attach()
        await editor.open(root / "other.py")
        editor.delays_changes = True
        yield editor
        await client.close()


def told(model: Puppet) -> int:
    """How many times the model was told that the edit came through."""
    return sum(CAME in note for note in model.noted)


async def test_a_change_behind_the_answer_is_waited_for(
    late: Editor, model: Puppet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Emacs with a long idle time, a busy window."""
    monkeypatch.setattr(edits, "LATE_S", 30.0)

    async def later(buffer: Buffer) -> None:
        asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(late.flush()))

    late.after_edit = later
    await late.client.turn(steps(EDIT, DONE))
    assert model.outputs[0].startswith("edited")
    assert not told(model)


@pytest.mark.parametrize("typed", ["", "# typed\n"])
async def test_an_edit_that_shows_after_the_wait_is_settled_told_once_and_undone(
    late: Editor, model: Puppet, typed: str
) -> None:
    (buffer,) = late.buffers.values()
    first = await late.client.turn(steps(EDIT, DONE))
    assert model.outputs[0].startswith("error: ")
    assert "it may be in the text or may yet come" in model.outputs[0]
    await late.client.turn(steps(DONE))
    assert not told(model), "nothing came yet"
    if typed:
        await late.type(buffer, 0, typed)
    await late.flush()
    late.delays_changes = False
    for _ in range(2):
        await late.client.turn(steps(READ, DONE))
        assert "x = 2" in model.outputs[-1]
    assert told(model) == 1
    file = path_of(buffer)
    await eventually(lambda: file.read_text() == CODE.replace("x = 1", "x = 2") or None)
    await late.client.command("loopline.turn.undo", {"turnId": first["turnId"]})
    assert buffer.text == typed + CODE
    # What else is unsaved in it is for the user to save.
    left = CODE if not typed else CODE.replace("x = 1", "x = 2")
    await eventually(lambda: file.read_text() == left or None)


def path_of(buffer: Buffer) -> Path:
    return Path(buffer.uri.removeprefix("file://"))


@pytest.mark.parametrize("late", [{"saveDocuments": True}], indirect=True)
async def test_the_plugin_saves_an_edit_that_comes_late(late: Editor, model: Puppet) -> None:
    """As with every edit: our plugin saves by the editor's own rules, so nothing is written past it."""
    saved: list[str] = []

    async def save(params: Json) -> Json:
        saved.extend(params["uris"])
        return {"saved": True}

    (buffer,) = late.buffers.values()
    late.client.handlers["loopline/saveDocuments"] = save
    await late.client.turn(steps(EDIT, DONE))
    assert not saved
    await late.flush()
    await eventually(lambda: saved or None)
    assert saved == [buffer.uri]
    assert path_of(buffer).read_text() == CODE


async def test_a_buffer_with_unsaved_text_is_left_to_its_user(late: Editor, model: Puppet) -> None:
    (buffer,) = late.buffers.values()
    late.delays_changes = False
    await late.type(buffer, 0, "# unsaved\n")
    late.delays_changes = True
    await late.client.turn(steps(EDIT, DONE))
    await late.flush()
    late.delays_changes = False
    await late.client.turn(steps(READ, DONE))
    assert "x = 2" in model.outputs[-1]
    assert path_of(buffer).read_text() == CODE, "saving would save what the user has not"


async def test_a_file_that_was_changed_on_disk_meanwhile_is_not_written_over(late: Editor, model: Puppet) -> None:
    (buffer,) = late.buffers.values()
    await late.client.turn(steps(EDIT, DONE))
    path_of(buffer).write_text("# from elsewhere\n" + CODE)
    await late.flush()
    late.delays_changes = False
    await late.client.turn(steps(READ, DONE))
    assert path_of(buffer).read_text() == "# from elsewhere\n" + CODE


async def test_a_document_that_is_closed_first_is_waited_for_no_more(late: Editor, model: Puppet) -> None:
    (buffer,) = late.buffers.values()
    await late.client.turn(steps(EDIT, DONE))
    await late.close(buffer)
    await late.client.turn(steps(READ, DONE))
    assert "x = 1" in model.outputs[-1]
    assert path_of(buffer).read_text() == CODE


async def test_it_is_told_at_the_next_call_of_the_same_turn(late: Editor, model: Puppet) -> None:
    started = await late.client.command("loopline.turn.start", {"task": steps(EDIT, {"hold": "here"})})
    await model.reached("here")
    await late.flush()
    await late.client.command("loopline.turn.steer", {"turnId": started["turnId"], "text": "go on"})
    model.release("here")
    await late.client.event("turn.finished", turnId=started["turnId"])
    assert told(model) == 1


async def test_an_edit_that_never_shows_is_no_edit_and_its_undo_changes_nothing(late: Editor, model: Puppet) -> None:
    late.manner = "ignore"
    (buffer,) = late.buffers.values()
    first = await late.client.turn(steps(EDIT, DONE))
    assert "it may be in the text or may yet come" in model.outputs[0]
    await late.client.command("loopline.turn.undo", {"turnId": first["turnId"]})
    await late.client.turn(steps(READ, DONE))
    assert "x = 1" in model.outputs[-1]
    assert buffer.text == CODE
    assert not told(model)


async def test_what_the_user_types_instead_is_not_taken_for_the_edit(late: Editor, model: Puppet) -> None:
    late.manner = "ignore"
    (buffer,) = late.buffers.values()
    await late.client.turn(steps(EDIT, DONE))
    late.delays_changes = False
    await late.type(buffer, len(CODE) - 2, "3", remove=1)
    await late.client.turn(steps(READ, DONE))
    assert "x = 3" in model.outputs[-1]
    assert not told(model)
