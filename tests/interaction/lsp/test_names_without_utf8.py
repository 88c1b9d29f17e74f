"""A folder and files whose names hold a byte that is no UTF-8, in an editor: read, edited and undone as ever."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.interaction.lsp.conftest import Connect
from tests.support.lsp.editor import Editor
from tests.support.lsp.puppet import Puppet, steps

NAME, CLOSED = '"f\\udce9.py"', '"g\\udce9.py"'
"""How a model is told the names, and says them."""


def named(folder: Path, name: bytes) -> Path:
    return Path(os.fsdecode(os.fsencode(folder) + b"/" + name))


def repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", os.fsencode(folder)], check=True)


async def test_a_turn_in_a_folder_and_on_files_whose_names_are_no_utf8(
    connect: Connect, tmp_path: Path, model: Puppet
) -> None:
    root = named(tmp_path, b"caf\xe9")
    repository(root)
    opened, closed = named(root, b"f\xe9.py"), named(root, b"g\xe9.py")
    for path in (opened, closed):
        path.write_text("x = 1\n")
    task = steps(
        {"call": "list", "args": {"path": "."}},
        {"call": "read", "args": {"path": NAME}},
        {"call": "edit", "args": {"path": NAME, "old": "x = 1", "new": "x = 2"}},
        {"call": "edit", "args": {"path": CLOSED, "old": "x = 1", "new": "x = 2"}},
        {"call": "shell", "args": {"command": "pwd; ls"}},
        {"text": "done"},
    )
    async with connect("stdio") as client:
        options = {"approve": "auto", "baseUrl": model.base_url, "model": "puppet"}
        await client.initialize(root, options=options)
        editor = Editor(client).attach()
        buffer = await editor.open(opened)
        await editor.type(buffer, 0, "# typed\n")
        end = await client.turn(task)
        assert (end["status"], end["tools"]) == ("completed", 5)
        listed, read, *edited, ran = model.outputs
        assert listed.splitlines() == [NAME, CLOSED]
        assert "editor's buffer" in read
        assert all(output.startswith("edited") for output in edited), edited
        assert "caf\ufffd" in ran
        assert "g\ufffd.py" in ran
        assert buffer.text == "# typed\nx = 2\n"
        assert closed.read_text() == "x = 2\n"
        (diff,) = client.events("diff")[-1:]
        assert len(diff["files"]) == 2
        await client.request("textDocument/codeLens", {"textDocument": {"uri": opened.as_uri()}})
        await client.command("loopline.turn.undo", {"turnId": end["turnId"]})
        assert buffer.text == "# typed\nx = 1\n"
        assert closed.read_text() == "x = 1\n"
        (session,) = (await client.command("loopline.session.list"))["sessions"]
        await client.command("loopline.session.resume", {"sessionId": session["sessionId"]})
        again = await client.turn("what was done?")
        assert again["status"] == "completed"
        assert [answer["error"] for answer in client.answers if "error" in answer] == []
        await client.shutdown()
        assert client.process is not None and client.process.stderr is not None
        assert b"Traceback" not in await client.process.stderr.read()
