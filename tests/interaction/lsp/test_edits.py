"""Edits of open and closed documents: what the editor shows, what the disk holds, and what the model is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lsp.client import Json, LspClient
from tests.support.lsp.editor import Buffer, Editor, Manner
from tests.support.lsp.puppet import Puppet, steps

EDIT = {"call": "edit", "args": {"path": "sums.py", "old": "return a - b", "new": "return a + b"}}
DONE = {"text": "done"}


async def test_an_open_document_is_edited_in_the_editor_and_its_clean_file_kept_equal(
    client: LspClient, editor: Editor, root: Path, model: Puppet
) -> None:
    buffer = await editor.open(root / "sums.py")
    await client.turn(steps(EDIT, DONE))
    assert "return a + b" in buffer.text
    assert (root / "sums.py").read_text() == buffer.text  # so that tests run on what the user sees
    assert model.outputs[0].startswith("edited sums.py (+1 -1)")


async def test_unsaved_text_is_read_edited_and_stays_unsaved(
    client: LspClient, editor: Editor, root: Path, model: Puppet
) -> None:
    before = (root / "sums.py").read_bytes()
    buffer = await editor.open(root / "sums.py")
    await editor.type(buffer, 0, "# mine\n")
    await client.turn(steps({"call": "read", "args": {"path": "sums.py"}}, EDIT, DONE))
    assert "# mine" in model.outputs[0] and "unsaved" in model.outputs[0]
    assert buffer.text.startswith("# mine\n") and "return a + b" in buffer.text
    assert (root / "sums.py").read_bytes() == before
    assert any("unsaved changes" in message["params"]["message"] for message in client.of("window/showMessage"))


async def test_a_plugin_saves(raw: LspClient, root: Path, options: Json) -> None:
    editor = Editor(raw).attach()

    async def save(params: Json) -> Json:
        for uri in params["uris"]:
            await editor.save(editor.buffers[uri])
        return {"saved": True}

    raw.handlers["loopline/saveDocuments"] = save
    await raw.initialize(root, options=options, experimental={"saveDocuments": True})
    buffer = await editor.open(root / "sums.py")
    await editor.type(buffer, 0, "# mine\n")
    await raw.turn(steps(EDIT, {"call": "shell", "args": {"command": "cat sums.py"}}, DONE))
    assert (root / "sums.py").read_text() == buffer.text
    assert buffer.text.startswith("# mine\n") and "return a + b" in buffer.text


async def test_an_untitled_document_is_read_and_edited(
    client: LspClient, editor: Editor, root: Path, model: Puppet
) -> None:
    buffer = await editor.open("untitled:Untitled-1", "draft = 1\n")
    path = "untitled:Untitled-1"
    edit = {"call": "edit", "args": {"path": path, "old": "draft = 1", "new": "draft = 2"}}
    await client.turn(steps({"call": "read", "args": {"path": path}}, edit, DONE), textDocument={"uri": buffer.uri})
    assert "draft = 1" in model.outputs[0] and f"`{path}`" in model.heard[-1]
    assert buffer.text == "draft = 2\n"
    assert not list(root.glob("untitled*"))


async def test_several_places_of_one_document_go_out_in_one_edit(client: LspClient, editor: Editor, root: Path) -> None:
    buffer = await editor.open(root / "sums.py")
    patch = (
        "*** Begin Patch\n*** Update File: sums.py\n@@\n-def add(a, b):\n-    return a - b  # héllo 😀\n"
        "+def add(a, c):\n+    return a + c  # héllo 😀\n@@\n-    return add(a, a)\n+    return add(a, a)  # 😀\n"
        "*** End Patch\n"
    )
    await client.turn(steps({"call": "patch", "args": {"patch": patch}}, DONE))
    assert "def add(a, c):\n    return a + c" in buffer.text and "add(a, a)  # 😀" in buffer.text
    (edit,) = editor.edits
    (change,) = edit["edit"]["documentChanges"]
    assert len(change["edits"]) >= 2


@pytest.mark.parametrize("manner", ["strict", "false_true", "slip"])
async def test_typing_elsewhere_meanwhile_is_kept_and_the_edit_is_made(
    client: LspClient, editor: Editor, root: Path, model: Puppet, manner: Manner
) -> None:
    editor.manner = manner
    buffer = await editor.open(root / "sums.py")

    async def type_once(at: Buffer) -> None:
        editor.before_edit = None
        await editor.type(at, 0, "# typed 😀\n")

    editor.before_edit = type_once
    await client.turn(steps(EDIT, DONE))
    assert buffer.text.startswith("# typed 😀\n") and buffer.text.count("return a + b") == 1
    assert "return a - b" not in buffer.text
    assert model.outputs[0].startswith("edited")


@pytest.mark.parametrize("manner", ["strict", "false_true", "slip"])
async def test_typing_in_the_same_place_wins_and_the_model_is_told(
    client: LspClient, editor: Editor, root: Path, model: Puppet, manner: Manner
) -> None:
    editor.manner = manner
    buffer = await editor.open(root / "sums.py")

    async def type_once(at: Buffer) -> None:
        editor.before_edit = None
        await editor.type(at, at.text.index("- b"), "* 2 ")

    editor.before_edit = type_once
    await client.turn(steps(EDIT, DONE))
    assert "return a * 2 - b" in buffer.text and "return a + b" not in buffer.text
    assert model.outputs[0].startswith("error: ") and "changed" in model.outputs[0]


async def test_an_edit_that_is_not_made_is_not_reported_as_made(
    client: LspClient, editor: Editor, root: Path, model: Puppet
) -> None:
    editor.manner = "refuse"
    buffer = await editor.open(root / "sums.py")
    before = buffer.text
    await client.turn(steps(EDIT, DONE))
    assert buffer.text == before and (root / "sums.py").read_text() == before
    assert model.outputs[0].startswith("error: ") and "did not apply" in model.outputs[0]


async def test_a_change_that_comes_late_counts(client: LspClient, editor: Editor, root: Path, model: Puppet) -> None:
    """Neovim sends changes after a pause, those of our edit and of the user in one."""
    import asyncio

    editor.delays_changes = True
    buffer = await editor.open(root / "sums.py")

    async def later(at: Buffer) -> None:
        await editor.type(at, len(at.text), "# after\n")
        asyncio.get_running_loop().call_later(0.15, lambda: asyncio.ensure_future(editor.flush()))

    editor.after_edit = later
    await client.turn(steps(EDIT, DONE))
    assert model.outputs[0].startswith("edited")
    assert buffer.text.endswith("# after\n") and "return a + b" in buffer.text


async def test_an_editor_without_versions_is_edited_and_checked(
    raw: LspClient, root: Path, options: Json, model: Puppet
) -> None:
    from tests.support.lsp.client import client_capabilities

    editor = Editor(raw).attach()
    capabilities = client_capabilities(["utf-16"])
    capabilities["workspace"] = {"applyEdit": True}
    await raw.initialize(root, options=options, capabilities=capabilities)
    buffer = await editor.open(root / "sums.py")
    await raw.turn(steps(EDIT, DONE))
    assert "changes" in editor.edits[0]["edit"] and "return a + b" in buffer.text


async def test_an_editor_that_cannot_edit_is_told_of(raw: LspClient, root: Path, options: Json, model: Puppet) -> None:
    editor = Editor(raw)
    await raw.initialize(root, options=options, capabilities={})
    await editor.open(root / "sums.py")
    await raw.turn(steps(EDIT, DONE))
    assert "can't apply edits" in model.outputs[0]
    assert "return a - b" in (root / "sums.py").read_text()


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
async def test_line_ends_stay(client: LspClient, editor: Editor, root: Path, end: str) -> None:
    path = root / "ends.py"
    path.write_bytes(end.join(["a = 1", "b = 2", "c = 3", ""]).encode())
    buffer = await editor.open(path)
    await client.turn(
        steps({"call": "edit", "args": {"path": "ends.py", "old": "b = 2", "new": "b = 4\nbb = 5"}}, DONE)
    )
    assert buffer.text == end.join(["a = 1", "b = 4", "bb = 5", "c = 3", ""])
    assert path.read_bytes() == buffer.text.encode()


@pytest.mark.parametrize("odd", ["\x0c", "\x0b", "\x85", "\u2028", "\u2029", "\x1c"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
async def test_odd_separators_shift_no_line(
    raw: LspClient, root: Path, options: Json, model: Puppet, odd: str, encoding: str
) -> None:
    editor = Editor(raw, encoding).attach()
    await raw.initialize(root, options=options, encodings=[encoding])
    buffer = await editor.open(root / "odd.py", f"a = 1{odd}x\nb = 2\nc{odd} = 3\nd = 4\n")
    await editor.type(buffer, buffer.text.index("d"), f"new{odd} = 5\n")
    edit = {"call": "edit", "args": {"path": "odd.py", "old": "b = 2", "new": "b = 7"}}
    await raw.turn(steps({"call": "read", "args": {"path": "odd.py", "start": 2, "end": 4}}, edit, DONE))
    assert buffer.text == f"a = 1{odd}x\nb = 7\nc{odd} = 3\nnew{odd} = 5\nd = 4\n"
    assert "2\tb = 2" in model.outputs[0]


async def test_a_latin1_file_keeps_its_bytes(client: LspClient, root: Path, model: Puppet) -> None:
    path = root / "old.py"
    path.write_bytes("# caf\xe9\nx = 1\n".encode("latin-1"))
    await client.turn(steps({"call": "edit", "args": {"path": "old.py", "old": "x = 1", "new": "x = 2"}}, DONE))
    assert path.read_bytes() == "# caf\xe9\nx = 2\n".encode("latin-1")


async def test_a_clean_document_that_a_command_rewrote_is_read_from_disk(
    client: LspClient, editor: Editor, root: Path, model: Puppet
) -> None:
    buffer = await editor.open(root / "other.py")
    rewrite = {"call": "shell", "args": {"command": "printf 'x = 99\\n' > other.py"}}
    read = {"call": "read", "args": {"path": "other.py"}}
    edit = {"call": "edit", "args": {"path": "other.py", "old": "99", "new": "100"}}
    await client.turn(steps(rewrite, read, edit, DONE))
    assert "x = 99" in model.outputs[1]
    assert (root / "other.py").read_text() == "x = 100\n"
    assert buffer.text == "x = 1\n" and editor.edits == []  # the editor loads it again by itself


async def test_a_document_that_both_changed_is_a_conflict(
    client: LspClient, editor: Editor, root: Path, model: Puppet
) -> None:
    buffer = await editor.open(root / "other.py")
    await editor.type(buffer, 0, "# mine\n")
    rewrite = {"call": "shell", "args": {"command": "printf 'x = 99\\n' > other.py"}}
    await client.turn(steps(rewrite, {"call": "read", "args": {"path": "other.py"}}, DONE))
    assert "# mine" in model.outputs[1] and "unsaved" in model.outputs[1]
    assert any("changed on disk as well" in message["params"]["message"] for message in client.of("window/showMessage"))
    assert (root / "other.py").read_text() == "x = 99\n"


async def test_folders_come_and_go_in_mid_turn(client: LspClient, root: Path, tmp_path: Path, model: Puppet) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "two.py").write_text("y = 1\n")
    started = await client.command(
        "loopline.turn.start",
        {
            "task": steps(
                {"hold": "a"},
                {"call": "edit", "args": {"path": str(second / "two.py"), "old": "y = 1", "new": "y = 2"}},
                {"hold": "b"},
                {"call": "edit", "args": {"path": str(second / "two.py"), "old": "y = 2", "new": "y = 3"}},
                DONE,
            )
        },
    )
    folder = {"uri": second.as_uri(), "name": "second"}
    for key, event in (("a", {"added": [folder], "removed": []}), ("b", {"added": [], "removed": [folder]})):
        await model.reached(key)
        await client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        await client.command("loopline.session.list", {})
        await client.command("loopline.turn.steer", {"turnId": started["turnId"], "text": "go on"})
        model.release(key)
    await client.event("turn.finished", turnId=started["turnId"])
    assert (second / "two.py").read_text() == "y = 2\n"
    assert "outside the workspace" in model.outputs[-1]
