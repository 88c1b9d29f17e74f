"""Every command, request and feature once, on every transport and in the encodings of both real editors: what the
server announces is what is tried here, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.interaction.lsp.conftest import Connect
from tests.support.lsp.client import Json, LspClient
from tests.support.lsp.editor import Editor
from tests.support.lsp.puppet import Puppet, steps

ELSEWHERE = {"loopline.dashboard.open", "loopline.question.answer"}
"""One starts a process of its own and is tried in `test_features.py`; the other is for clients that show questions, as
this one says that it does not, and is tried in `test_approvals.py`."""
EDIT = {"call": "edit", "args": {"path": "sums.py", "old": "return a - b  # héllo 😀", "new": "return a + b  # ünd 😀"}}
RUN = {"call": "shell", "args": {"command": "echo ran > ran.txt"}}


class Tour:
    """A client that notes what it tried. Places in the document are given in characters of line 4 (from 0)."""

    def __init__(self, client: LspClient, editor: Editor, uri: str) -> None:
        self.client, self.editor, self.uri = client, editor, uri
        self.tried: set[str] = set()

    async def command(self, name: str, argument: Json) -> Any:
        self.tried.add(name)
        return await self.client.command(name, argument)

    async def request(self, name: str, params: Json) -> Any:
        self.tried.add(name)
        return await self.client.request(name, params)

    def span(self, first: int, last: int) -> Json:
        buffer = self.editor.buffers[self.uri]
        start = buffer.text.index("    return a")
        points = [self.editor.position(buffer, start + at) for at in (first, last)]
        return {"start": points[0], "end": points[1]}

    def at(self, **more: Any) -> Json:
        return {"textDocument": {"uri": self.uri}, **more}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("kind", ["stdio", "tcp", "ws"])
async def test_every_feature(connect: Connect, root: Path, model: Puppet, kind: str, encoding: str) -> None:
    async with connect(kind) as client:
        options = {"baseUrl": model.base_url, "model": "puppet", "codeLens": True}
        await client.initialize(root, encodings=[encoding], options=options)
        editor = Editor(client, encoding).attach()
        buffer = await editor.open(root / "sums.py")
        tour = Tour(client, editor, buffer.uri)
        await _places(tour, model)
        await _turns(tour, root, model)
        await _sessions(tour)
        await _settings(tour, root)
        ours = client.capabilities["experimental"]["loopline"]
        assert {*ours["commands"], *ours["requests"]} - ELSEWHERE == tour.tried


async def _places(tour: Tour, model: Puppet) -> None:
    """Selections and diagnostics, in the client's units: what the model is told is what was meant."""
    client = tour.client
    smiley = tour.span(26, 27)
    problem = {"range": smiley, "message": "no smileys", "severity": 2, "source": "lint"}
    await client.notify("loopline/diagnostics", {"uri": tour.uri, "diagnostics": [problem]})
    actions = await client.request("textDocument/codeAction", tour.at(range=smiley, context={"diagnostics": [problem]}))
    assert [action["title"] for action in actions][0] == "Fix with Loopline" and len(actions) == 4
    explain = await client.request("codeAction/resolve", actions[2])
    await tour.command(explain["command"]["command"], explain["command"]["arguments"][0])
    await client.event("turn.finished")
    assert "```\n😀\n```" in model.heard[-1]

    async def choose(params: Json) -> Json:
        return {"title": params["actions"][1]["title"]}

    client.handlers["window/showMessageRequest"] = choose
    await tour.command("loopline.ask", tour.at(range=smiley))
    await client.until(lambda: len(client.events("turn.finished")) == 2)
    assert "fix them" in model.heard[-1] and "```\n😀\n```" in model.heard[-1]
    end = await client.turn(steps({"call": "diagnostics"}, {"text": "seen"}))
    assert end["text"] == "seen" and "sums.py:5:27: warning" in model.outputs[-1]


async def _turns(tour: Tour, root: Path, model: Puppet) -> None:
    client, buffer = tour.client, tour.editor.buffers[tour.uri]
    client.handlers.pop("window/showMessageRequest")  # from here on it can't ask
    before = buffer.text
    started = await tour.command("loopline.turn.start", {"task": steps(EDIT, {"hold": "tour"}, RUN, {"text": "Done."})})
    turn = {"turnId": started["turnId"]}
    await model.reached("tour")
    said = await tour.command("loopline.turn.steer", {**turn, "text": "and be quick"})
    assert said["fate"] == "steered"
    model.release("tour")
    opened = (await client.event("approval.opened"))["approval"]
    await tour.command("loopline.approval.answer", {"approvalId": opened["approvalId"], "decision": "allow"})
    end = await client.event("turn.finished", **turn)
    assert end["status"] == "completed" and (root / "ran.txt").exists()
    assert buffer.text == before.replace("return a - b  # héllo 😀", "return a + b  # ünd 😀")
    hover = await client.request("textDocument/hover", tour.at(position=tour.span(6, 6)["start"]))
    assert "Changed by Loopline" in hover["contents"]["value"]
    assert await client.request("textDocument/codeLens", tour.at()) == []
    diff = await client.event("diff", **turn)
    assert (diff["files"][0]["path"], diff["files"][0]["added"]) == ("sums.py", 1)
    changed = await tour.request("loopline/turn.changes", {"sessionId": started["sessionId"], **turn})
    files = {file["path"]: file for file in changed["files"]}
    assert files["sums.py"]["before"] == before and files["sums.py"]["after"] == buffer.text
    assert files["sums.py"]["diff"] == diff["files"][0]["diff"] and files["sums.py"]["uri"] == tour.uri
    assert (files["ran.txt"]["existed"], files["ran.txt"]["exists"], files["ran.txt"]["after"]) == (
        False,
        True,
        "ran\n",
    )
    await tour.command("loopline.turn.undo", turn)
    assert sorted((await client.event("turn.undone", **turn))["restored"]) == ["ran.txt", "sums.py"]
    await client.until(lambda: buffer.text == before)
    stuck = await client.command("loopline.turn.start", {"task": steps({"hold": "stuck"})})
    await model.reached("stuck")
    await tour.command("loopline.turn.cancel", {"turnId": stuck["turnId"]})
    assert (await client.event("turn.finished", timeout_s=5, turnId=stuck["turnId"]))["status"] == "cancelled"


async def _sessions(tour: Tour) -> None:
    client = tour.client
    new = (await tour.command("loopline.session.new", {}))["sessionId"]
    listed = (await tour.command("loopline.session.list", {}))["sessions"]
    old = client.events("turn.finished")[0]["sessionId"]
    assert {new, old} <= {session["sessionId"] for session in listed}
    resumed = await tour.command("loopline.session.resume", {"sessionId": new})
    assert resumed["state"] == "live"
    page = await tour.request("loopline/transcript", {"sessionId": old, "limit": 1000})
    assert {"user", "assistant", "tool"} == {entry["kind"] for entry in page["entries"]}
    assert all(entry["turnId"] for entry in page["entries"])
    assert client.events("context")[-1]["tokens"] > 0
    await tour.command("loopline.session.compact", {"sessionId": new})
    said = ("compacted", "much shorter")
    await client.until(lambda: any(words in told["text"] for told in client.events("notice") for words in said))


async def _settings(tour: Tour, root: Path) -> None:
    models = await tour.command("loopline.model.select", {"model": "other"})
    assert models["model"] == "other"
    assert (await tour.command("loopline.trust", {"uri": root.as_uri()}))["trusted"] is True
    kept = await tour.request("loopline/auth.set", {"provider": "openai", "key": "sk-tour"})
    assert kept == await tour.request("loopline/auth.status", {})
    await tour.client.request("loopline/auth.set", {"provider": "openai", "key": ""})
    status = {one["category"]: one["state"] for one in (await tour.request("loopline/status", {}))["categories"]}
    assert (status["model"], status["trust"], status["turn"]) == ("other", "trusted", "idle")
