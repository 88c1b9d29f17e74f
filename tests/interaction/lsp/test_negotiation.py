"""What a client can't do is not asked of it, and what it can is used."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.interaction.lsp.conftest import with_answers
from tests.support.lsp.client import Json, LspClient, client_capabilities, stdio
from tests.support.lsp.editor import Editor
from tests.support.lsp.puppet import Puppet, steps
from tests.support.system.cli import environment

EDIT = {"call": "edit", "args": {"path": "sums.py", "old": "a - b", "new": "a + b"}}
DONE = {"text": "Done."}


async def test_an_editor_that_can_do_nothing_is_asked_nothing(
    raw: LspClient, root: Path, options: Json, model: Puppet
) -> None:
    raw.handlers.clear()
    result = await raw.initialize(root, options={**options, "codeLens": True}, capabilities={})
    assert result["capabilities"]["positionEncoding"] == "utf-16"
    assert "inlineCompletionProvider" not in result["capabilities"]
    check = {"call": "shell", "args": {"command": "echo ran > ran.txt"}}
    end = await raw.turn(steps(EDIT, check, DONE))
    assert (end["status"], end["text"]) == ("completed", "Done.")
    assert "a + b" in (root / "sums.py").read_text() and (root / "ran.txt").exists()
    await raw.until(lambda: [one for one in raw.of("window/showMessage") if "Done." in one["params"]["message"]])
    assert [message["method"] for message in raw.seen if "id" in message] == []


async def test_an_editor_without_annotations_gets_none(raw: LspClient, root: Path, options: Json) -> None:
    editor = Editor(raw).attach()
    capabilities = client_capabilities(["utf-16"])
    capabilities["workspace"]["workspaceEdit"] = {"documentChanges": True}
    await raw.initialize(root, options=options, capabilities=capabilities)
    buffer = await editor.open(root / "sums.py")
    await raw.turn(steps(EDIT, DONE))
    assert "a + b" in buffer.text
    (edit,) = editor.edits
    assert "changeAnnotations" not in edit["edit"]
    assert all("annotationId" not in one for change in edit["edit"]["documentChanges"] for one in change["edits"])


@pytest.mark.parametrize("able", [True, False])
async def test_settings_files_are_watched_by_an_editor_that_can(
    raw: LspClient, root: Path, options: Json, model: Puppet, able: bool
) -> None:
    asked: list[Json] = []

    async def register(params: Json) -> None:
        asked.append(params)

    raw.handlers["client/registerCapability"] = register
    capabilities = client_capabilities(["utf-16"])
    capabilities["workspace"]["didChangeWatchedFiles"] = {"dynamicRegistration": able}
    await raw.initialize(root, options=options, capabilities=capabilities)
    await raw.turn(steps(DONE))
    assert len(asked) == able
    if able:
        (registration,) = asked[0]["registrations"]
        assert registration["method"] == "workspace/didChangeWatchedFiles"
        patterns = [watcher["globPattern"] for watcher in registration["registerOptions"]["watchers"]]
        assert patterns == ["**/.loopline/config.toml"]
        (root / ".loopline").mkdir()
        (root / ".loopline" / "config.toml").write_text('approve = "never"\n')
        change = {"uri": (root / ".loopline" / "config.toml").as_uri(), "type": 1}
        await raw.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
        await raw.turn(steps({"call": "shell", "args": {"command": "true"}}, DONE))
        assert "approve=never" in model.outputs[-1]


def with_inline() -> Json:
    capabilities = client_capabilities(["utf-16"])
    capabilities["textDocument"]["inlineCompletion"] = {"dynamicRegistration": False}
    return capabilities


async def begin(client: LspClient, root: Path, options: Json) -> Json:
    """Initialize and open `sums.py`; params of a request in it."""
    with_answers(client)
    result = await client.initialize(root, options=options, capabilities=with_inline())
    assert "inlineCompletionProvider" in result["capabilities"]
    await Editor(client).attach().open(root / "sums.py")
    place = {"line": 4, "character": 11}
    return {"textDocument": {"uri": (root / "sums.py").as_uri()}, "position": place, "context": {"triggerKind": 1}}


async def test_text_at_the_cursor_comes_from_a_model_that_writes(tmp_path: Path, root: Path) -> None:
    async with stdio(environment(tmp_path, LOOPLINE_MODEL="scripted")) as client:
        params = await begin(client, root, {"inlineCompletion": True})
        (found,) = await client.request("textDocument/inlineCompletion", params)
        assert found["insertText"].strip() and found["range"]["start"] == params["position"]
        (root / ".env").write_text("KEY=1\n")
        secret = await Editor(client).open(root / ".env")
        hidden = {**params, "textDocument": {"uri": secret.uri}, "position": {"line": 0, "character": 0}}
        assert await client.request("textDocument/inlineCompletion", hidden) == []


async def test_what_is_withdrawn_is_not_waited_for(tmp_path: Path, root: Path) -> None:
    async with stdio(environment(tmp_path, LOOPLINE_MODEL="scripted:slow")) as client:
        params = await begin(client, root, {"inlineCompletion": True})
        asked = await client.begin("textDocument/inlineCompletion", params, "ghost")
        await client.request("loopline/status", {})
        await client.notify("$/cancelRequest", {"id": "ghost"})
        async with asyncio.timeout(30):
            assert (await asked)["error"]["code"] == -32800


async def test_the_search_engine_writes_none_and_says_so_once(raw: LspClient, root: Path) -> None:
    params = await begin(raw, root, {"inlineCompletion": True})
    for _ in range(2):
        assert await raw.request("textDocument/inlineCompletion", params) == []
    said = [one["params"]["message"] for one in raw.of("window/showMessage")]
    assert len([text for text in said if "writes no text" in text]) == 1


async def test_text_at_the_cursor_is_off_by_default(raw: LspClient, root: Path, options: Json, model: Puppet) -> None:
    params = await begin(raw, root, options)
    assert await raw.request("textDocument/inlineCompletion", params) == []
    assert model.heard == []
