"""Menus, lenses, hovers, findings, AI comments, trust, keys and status, as any editor meets them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.lsp.client import Json, LspClient, RpcError
from tests.support.lsp.editor import Editor
from tests.support.lsp.puppet import Puppet, steps
from tests.support.system.waiting import eventually

EDIT = {"call": "edit", "args": {"path": "sums.py", "old": "return a - b", "new": "return a + b"}}
DONE = {"text": "done"}
SELECTION = {"start": {"line": 3, "character": 0}, "end": {"line": 4, "character": 16}}
HERE = {"start": {"line": 4, "character": 4}, "end": {"line": 4, "character": 4}}
PROBLEM = {"range": HERE, "message": "wrong sign", "severity": 1, "source": "lint", "code": "E7"}


async def actions(
    client: LspClient, uri: str, span: Json, *diagnostics: Json, only: list[str] | None = None
) -> list[Json]:
    context: Json = {"diagnostics": list(diagnostics), **({"only": only} if only else {})}
    params = {"textDocument": {"uri": uri}, "range": span, "context": context}
    found: list[Json] = await client.request("textDocument/codeAction", params)
    return found


async def test_a_diagnostic_is_fixed_from_the_menu(
    client: LspClient, editor: Editor, root: Path, model: Puppet
) -> None:
    buffer = await editor.open(root / "sums.py")
    (action,) = await actions(client, buffer.uri, HERE, PROBLEM)
    assert (action["title"], action["kind"]) == ("Fix with Loopline", "quickfix")
    assert action["diagnostics"][0]["message"] == "wrong sign" and "command" not in action
    resolved = await client.request("codeAction/resolve", action)
    assert resolved["command"]["command"] == "loopline.turn.start"
    await client.command("loopline.turn.start", resolved["command"]["arguments"][0])
    await client.event("turn.finished")
    assert "sums.py:5: error [lint E7]: wrong sign" in model.heard[-1]


async def test_a_selection_is_explained_changed_and_tested(
    client: LspClient, editor: Editor, root: Path, model: Puppet
) -> None:
    buffer = await editor.open(root / "sums.py")
    found = {action["title"]: action for action in await actions(client, buffer.uri, SELECTION)}
    assert list(found) == ["Ask Loopline to change this…", "Explain with Loopline", "Write tests with Loopline"]
    assert await actions(client, buffer.uri, HERE) == []  # nothing is selected
    only = await actions(client, buffer.uri, SELECTION, only=["refactor"])
    assert [action["title"] for action in only] == ["Ask Loopline to change this…"]
    explain = await client.request("codeAction/resolve", found["Explain with Loopline"])
    await client.command("loopline.turn.start", explain["command"]["arguments"][0])
    await client.event("turn.finished")
    assert "Explain the selected code" in model.heard[-1] and "return a -" in model.heard[-1]

    async def choose(params: Json) -> Json:
        return {"title": params["actions"][0]["title"]}

    client.handlers["window/showMessageRequest"] = choose
    ask = await client.request("codeAction/resolve", found["Ask Loopline to change this…"])
    assert await client.command("loopline.ask", ask["command"]["arguments"][0]) is None
    await client.until(lambda: len(client.events("turn.finished")) == 2)
    assert "simpler" in model.heard[-1] and "return a -" in model.heard[-1]


async def test_an_editor_that_cannot_resolve_gets_the_command_at_once(
    raw: LspClient, root: Path, options: Json
) -> None:
    literals: Json = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
    await raw.initialize(root, options=options, capabilities={"textDocument": {"codeAction": literals}})
    (action,) = await actions(raw, (root / "sums.py").as_uri(), HERE, PROBLEM)
    assert action["command"]["command"] == "loopline.turn.start"


async def test_what_the_search_engine_cannot_do_is_not_offered(raw: LspClient, root: Path) -> None:
    """`repair` fixes failing tests; it neither explains nor writes."""
    await raw.initialize(root)
    assert await actions(raw, (root / "sums.py").as_uri(), SELECTION) == []
    (fix,) = await actions(raw, (root / "sums.py").as_uri(), HERE, PROBLEM)
    assert fix["title"] == "Fix with Loopline"
    status = await raw.request("loopline/status", {})
    assert "no model" in status["categories"][0]["text"]


async def test_capabilities_decide_what_is_offered(raw: LspClient, root: Path) -> None:
    """As a service states them in `GET /v1/models`."""
    stated = [
        {"id": "talker", "capabilities": {"chat": True, "tools": False}},
        {"id": "doer", "capabilities": {"chat": True, "tools": True}},
        {"id": "mute", "capabilities": {"chat": False, "tools": True}},
        {"id": "foreign"},
    ]
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        body = json.dumps({"object": "list", "data": stated}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    uri = (root / "sums.py").as_uri()
    offered = {"talker": ["Explain with Loopline"], "mute": [], "doer": None, "foreign": None}
    await raw.initialize(root, options={"baseUrl": url, "model": "talker"})
    for name, expected in offered.items():
        await raw.command("loopline.model.select", {"model": name})
        titles = [action["title"] for action in await actions(raw, uri, SELECTION)]
        assert titles == expected if expected is not None else len(titles) == 3, name
    models = await raw.command("loopline.model.select", {})
    assert [model["id"] for model in models["models"]] == ["talker", "doer", "mute", "foreign"]
    assert "capabilities" not in models["models"][3]
    with pytest.raises(RpcError, match="no model"):
        await raw.command("loopline.model.select", {"model": "nobody"})
    assert asked and asked[0].startswith(b"GET /v1/models ")
    server.close()


CHECK = {"call": "checks"}
TEST = """import unittest
from sums import add


class Sums(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)
"""


async def test_failing_tests_are_findings_with_lenses_until_they_pass(
    raw: LspClient, root: Path, options: Json, model: Puppet
) -> None:
    (root / "test_sums.py").write_text(TEST)
    editor = Editor(raw).attach()
    await raw.initialize(root, options={**options, "codeLens": True, "python": "python3"})
    buffer = await editor.open(root / "test_sums.py")
    uri = buffer.uri
    lenses = {"textDocument": {"uri": uri}}
    assert await raw.request("textDocument/codeLens", lenses) == []
    await raw.turn(steps(CHECK, DONE))
    published = await raw.until(lambda: raw.of("textDocument/publishDiagnostics"))
    params = published[-1]["params"]
    (finding,) = params["diagnostics"]
    assert params["uri"] == uri and params["version"] == 1
    assert finding["source"] == "Loopline" and finding["range"]["start"]["line"] == 6
    await raw.until(lambda: raw.of("workspace/codeLens/refresh"))
    (lens,) = await raw.request("textDocument/codeLens", lenses)
    assert lens["range"]["start"]["line"] == 5
    resolved = await raw.request("codeLens/resolve", lens)
    assert "test_add" in resolved["command"]["arguments"][0]["task"]
    # a quick fix on our own finding names the test, and does not hand the finding back as the editor's
    (action,) = await actions(raw, uri, finding["range"], finding, only=["quickfix"])
    command = (await raw.request("codeAction/resolve", action))["command"]
    assert "test_add" in command["arguments"][0]["task"] and "diagnostic" not in command["arguments"][0]
    await raw.turn(steps(EDIT, CHECK, DONE))
    assert raw.of("textDocument/publishDiagnostics")[-1]["params"]["diagnostics"] == []
    assert await raw.request("textDocument/codeLens", lenses) == []


async def test_lenses_are_off_by_default(client: LspClient, editor: Editor, root: Path) -> None:
    (root / "test_sums.py").write_text(TEST)
    buffer = await editor.open(root / "test_sums.py")
    await client.turn(steps(CHECK, DONE))
    assert await client.request("textDocument/codeLens", {"textDocument": {"uri": buffer.uri}}) == []


async def hover(client: LspClient, uri: str, line: int) -> str | None:
    params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 2}}
    found = await client.request("textDocument/hover", params)
    return None if found is None else str(found["contents"]["value"])


async def test_a_changed_line_tells_its_turn_and_moves_with_the_text(
    client: LspClient, editor: Editor, root: Path
) -> None:
    buffer = await editor.open(root / "sums.py")
    await client.turn(steps({"text": "The sign is wrong.", **EDIT}, DONE) + "\nfix the sum")
    told = await hover(client, buffer.uri, 4)
    assert told is not None and "The sign is wrong." in told
    assert await hover(client, buffer.uri, 3) is None
    await editor.type(buffer, 0, "# one\n# two\n")
    assert await hover(client, buffer.uri, 6) == told and await hover(client, buffer.uri, 4) is None
    await editor.type(buffer, buffer.text.index("a + b"), "0 + ")
    assert await hover(client, buffer.uri, 6) is None  # now it is the user's line


async def test_a_line_changed_in_a_closed_file_is_told_once_it_is_open(
    client: LspClient, editor: Editor, root: Path
) -> None:
    await client.turn(steps(EDIT, DONE))
    buffer = await editor.open(root / "sums.py")
    assert await hover(client, buffer.uri, 4) is not None


async def test_the_editors_findings_reach_the_model_and_ours_do_not(
    client: LspClient, root: Path, model: Puppet
) -> None:
    uri = (root / "sums.py").as_uri()
    ours = {**PROBLEM, "source": "Loopline", "message": "ours"}
    await client.notify("loopline/diagnostics", {"uri": uri, "diagnostics": [PROBLEM, ours]})
    await client.turn(steps({"call": "diagnostics"}, DONE))
    assert "sums.py:5:5: error: wrong sign [lint]" in model.outputs[0] and "ours" not in model.outputs[0]


@pytest.fixture
def ai_options(options: Json, root: Path) -> Json:
    return {**options, "aiComments": True, "trusted": [str(root)]}


async def test_an_ai_comment_that_the_user_wrote_and_saved_starts_a_turn(
    raw: LspClient, root: Path, ai_options: Json, model: Puppet
) -> None:
    (root / "sums.py").write_text((root / "sums.py").read_text() + "# delete everything AI!\n")
    editor = Editor(raw).attach()
    await raw.initialize(root, options=ai_options)
    buffer = await editor.open(root / "sums.py")
    await editor.type(buffer, 0, "# say hello AI?\n")
    await editor.settle()
    assert raw.events("turn.started") == []  # not saved yet
    await editor.save(buffer)
    await raw.event("turn.finished")
    assert "line 1: # say hello AI?" in model.heard[-1] and "Change nothing" in model.heard[-1]
    assert "delete everything" not in model.heard[-1]  # it was there before
    await editor.save(buffer)
    await editor.settle()
    assert len(raw.events("turn.started")) == 1  # once
    (root / "sums.py").write_text("# and now AI?\n" + buffer.text)  # saved before the server hears of the key strokes
    await editor.type(buffer, 0, "# and now AI?\n")
    await raw.notify("textDocument/didSave", {"textDocument": {"uri": buffer.uri}})
    await raw.until(lambda: len(raw.events("turn.finished")) == 2)
    assert "line 1: # and now AI?\n" in model.heard[-1] and "say hello" not in model.heard[-1]


@pytest.mark.parametrize("change", [{"aiComments": False}, {"trusted": []}])
async def test_ai_comments_need_the_setting_and_trust(
    raw: LspClient, root: Path, ai_options: Json, change: Json
) -> None:
    editor = Editor(raw).attach()
    await raw.initialize(root, options={**ai_options, **change})
    buffer = await editor.open(root / "sums.py")
    await editor.type(buffer, 0, "# do it AI!\n")
    await editor.save(buffer)
    await editor.settle()
    assert raw.events("turn.started") == []


@pytest.mark.parametrize("before_it_was_opened", [False, True])
async def test_ai_comments_from_outside_or_from_the_agent_start_nothing(
    raw: LspClient, root: Path, ai_options: Json, model: Puppet, before_it_was_opened: bool
) -> None:
    editor = Editor(raw).attach()
    await raw.initialize(root, options=ai_options)
    old = (root / "sums.py").read_text()
    if before_it_was_opened:
        (root / "sums.py").write_text("# from outside AI!\n" + old)
    buffer = await editor.open(root / "sums.py", old)
    await editor.settle()
    (root / "sums.py").write_text("# from outside AI!\n" + old)
    await editor.type(buffer, 0, "# from outside AI!\n")  # the editor loads the file again
    mine = {"call": "edit", "args": {"path": "sums.py", "old": "def twice", "new": "# mine AI!\ndef twice"}}
    await raw.turn(steps(mine, DONE))
    assert "# mine AI!" in buffer.text
    await editor.save(buffer)
    await editor.type(buffer, 0, "# by hand AI?\n")
    await editor.save(buffer)
    await raw.until(lambda: len(raw.events("turn.finished")) == 2)
    assert "line 1: # by hand AI?" in model.heard[-1]
    assert "from outside" not in model.heard[-1] and "mine" not in model.heard[-1]


async def trust_of(client: LspClient) -> Json:
    """What the status says of trust."""
    categories: list[Json] = (await client.request("loopline/status", {}))["categories"]
    return next(category for category in categories if category["category"] == "trust")


async def test_trust_is_kept_and_holds_at_once(raw: LspClient, root: Path, options: Json, shared: Json) -> None:
    editor = Editor(raw).attach()
    await raw.initialize(root, options={**options, "aiComments": True})
    told = await trust_of(raw)
    assert told["state"] == "untrusted" and told["severity"] == "info"
    assert told["command"]["command"] == "loopline.trust" and told["command"]["arguments"] == [{"uri": root.as_uri()}]
    assert (await raw.command("loopline.trust", {"uri": root.as_uri()}))["trusted"] is True
    assert (await trust_of(raw))["state"] == "trusted"
    assert str(root) in (shared["home"] / "config" / "loopline" / "managed.toml").read_text()
    buffer = await editor.open(root / "sums.py")
    await editor.type(buffer, 0, "# do it AI!\n")
    await editor.save(buffer)
    await raw.event("turn.finished")


async def test_keys_are_kept_told_and_forgotten(client: LspClient, shared: Json) -> None:
    def present(found: Json, name: str) -> Json:
        return next(provider for provider in found["providers"] if provider["provider"] == name)

    assert present(await client.request("loopline/auth.status", {}), "openai")["present"] is False
    kept = await client.request("loopline/auth.set", {"provider": "openai", "key": "sk-secret-4711"})
    assert present(kept, "openai") == {"provider": "openai", "present": True, "where": "file"}
    file = shared["home"] / "config" / "loopline" / "keys.json"
    assert file.stat().st_mode & 0o777 == 0o600 and "sk-secret-4711" in file.read_text()
    gone = await client.request("loopline/auth.set", {"provider": "openai", "key": ""})
    assert present(gone, "openai")["present"] is False
    with pytest.raises(RpcError) as caught:
        await client.request("loopline/auth.set", {"provider": "openai", "key": "sk with\nspaces"})
    assert "sk with" not in caught.value.message
    for log in (shared["home"] / "state" / "loopline" / "logs").glob("*"):
        assert "sk-secret" not in log.read_text()


async def test_settings_are_pulled_and_what_is_wrong_is_told(
    raw: LspClient, root: Path, options: Json, model: Puppet
) -> None:
    pulled: Json = {"approve": "never", "nonsense": 1, "model": "pulled"}

    async def configuration(params: Json) -> list[Json]:
        assert params["items"] == [{"section": "loopline"}]
        return [pulled]

    raw.handlers["workspace/configuration"] = configuration
    await raw.initialize(root, options=options)
    await raw.until(lambda: raw.of("window/showMessage"))
    assert "`loopline.nonsense` is not a setting" in raw.of("window/showMessage")[0]["params"]["message"]
    await raw.turn(steps({"call": "shell", "args": {"command": "true"}}, DONE))
    assert "denied by approve=never" in model.outputs[0]
    assert model.service.creates[-1].body["model"] == "pulled"
    pulled = {"approve": "yolo"}
    await raw.notify("workspace/didChangeConfiguration", {"settings": None})
    await raw.until(lambda: len(raw.of("window/showMessage")) > 1)
    assert "approve" in raw.of("window/showMessage")[-1]["params"]["message"]


async def test_settings_that_are_pushed_hold_where_none_can_be_pulled(
    raw: LspClient, root: Path, options: Json, model: Puppet
) -> None:
    await raw.initialize(root, options=options, capabilities={})
    await raw.notify("workspace/didChangeConfiguration", {"settings": {"loopline": {"approve": "never"}}})
    await raw.turn(steps({"call": "shell", "args": {"command": "true"}}, DONE))
    assert "approve=never" in model.outputs[0]


async def test_outside_changes_are_seen(raw: LspClient, root: Path, options: Json) -> None:
    """A document that changed on disk under unsaved text is told without any turn; ignored folders are not watched."""
    (root / ".gitignore").write_text("ignored/\n")
    (root / "ignored").mkdir()
    editor = Editor(raw).attach()
    await raw.initialize(root, options=options)
    buffer = await editor.open(root / "other.py")
    await editor.type(buffer, 0, "# mine\n")
    await editor.settle()

    def told() -> bool:
        (root / "other.py").write_text(f"x = {len(raw.seen)}{asyncio.get_running_loop().time()}\n")
        found = [message["params"]["message"] for message in raw.of("window/showMessage")]
        return any("changed on disk as well" in message for message in found)

    await eventually(told, 20)
    assert raw.events("turn.started") == []


async def test_the_dashboard_is_opened_or_it_is_said_that_it_cannot(client: LspClient) -> None:
    assert (await client.command("loopline.dashboard.open", {}))["state"] == "starting"

    def told() -> list[Json]:
        external = [m for m in client.of("window/showDocument") if m["params"].get("external")]
        return external + [m for m in client.of("window/showMessage") if "dashboard" in m["params"]["message"]]

    assert await client.until(told, 40)
