"""The whole story on every transport and in every encoding: a turn that reads, edits an open document and a closed
file, asks for a command, and ends with an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interaction.lsp.conftest import Connect
from tests.support.lsp.client import Json
from tests.support.lsp.editor import Editor
from tests.support.lsp.puppet import Puppet, steps


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("kind", ["stdio", "tcp", "ws"])
async def test_a_turn_in_an_editor(connect: Connect, root: Path, model: Puppet, kind: str, encoding: str) -> None:
    asked: list[Json] = []

    async def allow(params: Json) -> Json:
        asked.append(params)
        return {"title": "Allow"}

    async with connect(kind) as client:
        client.handlers["window/showMessageRequest"] = allow
        options = {"baseUrl": model.base_url, "model": "puppet"}
        result = await client.initialize(root, encodings=[encoding, "utf-7"], options=options)
        assert result["capabilities"]["positionEncoding"] == encoding
        ours = result["capabilities"]["experimental"]["loopline"]
        assert "loopline.turn.start" in ours["commands"] and "$/loopline/event" in ours["notifications"]
        editor = Editor(client, encoding).attach()
        buffer = await editor.open(root / "sums.py")

        end = await client.turn(
            steps(
                {"call": "read", "args": {"path": "sums.py"}},
                {"call": "edit", "args": {"path": "sums.py", "old": "a - b  # héllo 😀", "new": "a + b  # 😀😀 ü"}},
                {"call": "edit", "args": {"path": "other.py", "old": "x = 1", "new": "x = 2"}},
                {"call": "shell", "args": {"command": "echo done > made.txt"}},
                {"text": "It adds now."},
            ),
            token="my-token",
        )

        assert (end["status"], end["text"]) == ("completed", "It adds now.")
        assert "return a + b  # 😀😀 ü" in buffer.text
        (edit,) = editor.edits
        change = edit["edit"]["documentChanges"][0]
        assert change["textDocument"]["version"] == 1
        assert edit["edit"]["changeAnnotations"][change["edits"][0]["annotationId"]]["label"].startswith("Loopline")
        assert (root / "other.py").read_text() == "x = 2\n"
        assert (root / "made.txt").read_text() == "done\n"
        assert [action["title"] for action in asked[0]["actions"]] == ["Allow", "Always allow", "Deny"]
        assert "echo done > made.txt" in asked[0]["message"]
        assert "return a - b" in model.outputs[0]

        bars = [message["params"] for message in client.of("$/progress")]
        assert {bar["token"] for bar in bars} == {"my-token"}
        assert [bar["value"]["kind"] for bar in (bars[0], bars[-1])] == ["begin", "end"]
        assert bars[0]["value"]["cancellable"] is True
        await client.until(lambda: client.of("window/showDocument"))
        shown = client.of("window/showDocument")[0]["params"]
        assert shown["uri"].startswith("file:///") and not shown["takeFocus"]
        assert "It adds now." in Path(shown["uri"].removeprefix("file://")).read_text()

        numbers = [message["params"]["seq"] for message in client.of("$/loopline/event")]
        assert numbers == list(range(1, len(numbers) + 1))
        call = client.events("call")[-1]
        assert call["status"] == "completed" and call["reuse"] == "reused" and call["cachedShare"] == 0.6
        assert client.events("stages")[-1]["running"] is False
        (diff,) = client.events("diff")[-1:]
        assert [file["path"] for file in diff["files"]] == ["made.txt", "other.py", "sums.py"]
        await client.shutdown()
