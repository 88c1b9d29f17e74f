"""The pure parts: settings, places in the editor, diffs read back, notes on lines, transcripts, marks, the schema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.tools.workspace.diffs import diff
from agent_core.turns import events
from agent_core.turns.events import Plan, Step, TextDelta
from lsp_server.documents import patches
from lsp_server.documents.documents import Splice
from lsp_server.documents.line_store import split_lines
from lsp_server.documents.lines import LineNotes
from lsp_server.features.ai_comments import mark_of
from lsp_server.features.watching import folders_of
from lsp_server.protocol import methods, schema, typings
from lsp_server.protocol.events import AnyEvent
from lsp_server.recent import Recent
from lsp_server.settings import EditorSettings, is_settings_file, resolve, stricter_approve
from lsp_server.transcript import page
from tests.support.lsp.inside import inside

NOWHERE = {"XDG_CONFIG_HOME": "/nonexistent"}


def settled(options: object, pulled: object = None, *, users_own: bool = True) -> EditorSettings:
    return resolve(options, pulled, NOWHERE, users_own=users_own)


def test_pulled_settings_win_over_initialization_options() -> None:
    found = settled({"model": "a", "approve": "ask"}, {"model": "b", "approve": None, "codeLens": True})
    assert found.flags == {"model": "b", "approve": "ask"} and found.code_lens and found.problems == ()
    assert settled({"loopline": {"model": "a"}}).flags == {"model": "a"}
    assert settled("nonsense", 5) == EditorSettings()


EVERYTHING = {
    "baseUrl": "http://evil/v1", "approve": "auto", "trusted": ["/"], "aiComments": True, "inlineCompletion": True,
    "python": "evil", "transport": "http", "approvalTimeoutS": 0.01,
}  # fmt: skip
"""What a folder may not say."""


@pytest.mark.parametrize("key", EVERYTHING)
def test_a_key_counts_only_from_a_client_that_leaves_the_folders_word_out(key: str) -> None:
    """Nothing is looked for in files of the folder, so no way to write a key there matters."""
    for way in ({key: EVERYTHING[key]}, {"loopline": {key: EVERYTHING[key]}}):
        for options, pulled in ((way, None), (None, way), (way, way)):
            found = settled(options, pulled, users_own=False)
            assert found == EditorSettings(problems=found.problems) and len(found.problems) == 1
            assert settled(options, pulled) != EditorSettings() and settled(options, pulled).problems == ()


def test_what_a_folder_may_say_counts_from_every_client(tmp_path: Path) -> None:
    said = {"model": "m", "project": "p", "codeLens": True, "approve": "never", "deny": ["curl *"]}
    found = settled(said, users_own=False)
    assert found.flags == {"model": "m", "project": "p", "approve": "never", "deny": ["curl *"]}
    assert found.code_lens and found.problems == ()
    (tmp_path / "loopline").mkdir()
    (tmp_path / "loopline" / "config.toml").write_text(
        'deny = ["rm *"]\napprove = "never"\n[editor]\nai_comments = true\n'
    )
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    more = resolve({"deny": ["curl *"], "approve": "ask"}, None, env, users_own=False)
    assert more.flags == {"deny": ["rm *", "curl *"]} and len(more.problems) == 1 and more.ai_comments
    same = resolve({"approve": "never", "aiComments": True}, None, env, users_own=False)
    assert same.problems == ()  # it says what holds anyway


def test_wrong_settings_are_told_and_left_out() -> None:
    found = settled({"approve": "yolo", "baseUrl": "ftp://x", "colour": "red", "approvalTimeoutS": 3, "model": "m"})
    assert found.flags == {"model": "m", "approval_timeout_s": 3}
    assert len(found.problems) == 3 and "approve" in found.problems[0]
    assert settled({"trusted": True}).trust_all and settled({"trusted": ["/a", 5]}).trusted == ("/a",)
    assert settled({"approvalTimeoutS": True}).problems == (
        "`loopline.approvalTimeoutS` is ignored: expected seconds, 0 or more",
    )


def test_which_files_hold_settings_of_ours(tmp_path: Path) -> None:
    assert is_settings_file(f"{tmp_path}/.loopline/config.toml", [tmp_path])
    for other in (".vscode/settings.json", "x.code-workspace", "sub/.loopline/config.toml", ".loopline"):
        assert not is_settings_file(f"{tmp_path}/{other}", [tmp_path])


def test_the_stricter_of_editor_and_folder() -> None:
    assert stricter_approve("auto", "never") == "never"
    assert stricter_approve("never", "ask") is None
    assert stricter_approve(None, "never") is None  # then the core's own layers decide


lines = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map(lambda found: "".join(f"{x}\n" for x in found))


@given(old=lines, new=lines)
@settings(max_examples=150, deadline=None)
def test_a_diff_read_back_leads_from_the_old_lines_to_the_new(old: str, new: str) -> None:
    text = diff(old, new).with_header("x.py", "x.py")
    if not text:
        assert patches.read(text) == []
        return
    (found,) = patches.read(text)
    assert found.path == "x.py"
    after = split_lines(new)
    result = split_lines(old)
    for splice in found.splices:
        result[splice.first : splice.last] = after[splice.first : splice.first + splice.count]
    assert result == after
    assert {line: after[line].rstrip("\n") for line in found.added} == found.added


def test_new_and_deleted_files_in_a_diff() -> None:
    both = diff("", "a\n").with_header(None, "new.py") + diff("a\n", "").with_header("old.py", None)
    (found,) = patches.read(both)
    assert (found.path, found.added) == ("new.py", {0: "a"})


def test_notes_move_with_their_lines() -> None:
    notes: LineNotes[str] = LineNotes()
    notes.put([1, 2, 5], "x")
    notes.move(Splice(2, 3, 3))  # line 2 became three lines
    assert notes.lines() == [1, 7] and notes[7] == "x" and notes[2] is None
    notes.move(Splice(0, 2, 0))
    assert notes.lines() == [5]
    notes.drop([5])
    assert notes.lines() == []


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("# fix this AI!", "!"), ("x = 1  # AI? why", "?"), ("// ai! go", "!"), ("/* why so AI? */", "?"),
        ("<!-- explain AI? -->", "?"), ("-- drop it AI!", "!"), ("; AI!", "!"), ("% do AI!", "!"),
        ("# AI is great", None), ("AI!", None), ("x = 'AI!'", None), ("# MAI!", None), ("# AI!x", None),
        ("# said AI! loudly", None), ("url = 'http://a/b' # hm AI?", "?"), ("", None),
    ],
)  # fmt: skip
def test_marks_in_comments(line: str, mark: str | None) -> None:
    assert mark_of(line) == mark


def item(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def test_a_transcript_joins_calls_with_their_outputs() -> None:
    items = [
        item(type="message", role="developer", content=[{"type": "input_text", "text": "secret of the trade"}]),
        item(type="message", role="user", content="hi"),
        item(type="function_call", call_id="c1", name="read", arguments='{"path":"a"}'),
        item(type="custom_tool_call", call_id="c2", name="patch", input="p"),
        item(type="function_call_output", call_id="c1", output=[{"type": "output_text", "text": "text of a"}]),
        item(type="function_call_output", call_id="c9", output="to nothing"),
        item(type="reasoning", summary=[]),
        b"not json",
        b"[1]",
        item(type="message", role="assistant", content=[{"type": "output_text", "text": "done"}]),
    ]
    turns = ["turn_1"] * len(items)
    found = page(items, turns, None, 10)
    assert {entry.turn_id for entry in found.entries} == {"turn_1"}
    assert [(entry.kind, entry.text) for entry in found.entries] == [
        ("user", "hi"), ("tool", "text of a"), ("tool", ""), ("assistant", "done")
    ]  # fmt: skip
    assert found.entries[2].arguments == "p" and not found.more
    assert [entry.index for entry in page(items, turns, 3, 2).entries] == [1, 2]
    assert page(items, turns, 3, 2).more
    assert page(items, turns, 0, 5).entries == () and page([], [], None, 5).entries == ()


def test_ignored_folders_are_not_watched_and_near_ones_come_first(tmp_path: Path) -> None:
    for name in ("src/deep/er", "node_modules/x", ".git/objects", "docs"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("node_modules/\n")
    found = [path.removeprefix(str(tmp_path)) for path in folders_of((tmp_path,))]
    assert found == ["", "/docs", "/src", "/src/deep", "/src/deep/er"]


@pytest.mark.parametrize("name", schema.TARGETS)
def test_what_is_committed_is_what_would_be_generated(name: str) -> None:
    committed = (schema.FOLDER / name).read_text(encoding="utf-8")
    assert committed == schema.TARGETS[name](), "run python -m lsp_server.protocol.schema"


@pytest.mark.parametrize("name", schema.TARGETS)
def test_the_schema_command_notices_a_stale_file(name: str, tmp_path: Path) -> None:
    assert schema.main(["--check"], tmp_path) == 1
    assert schema.main([], tmp_path) == 0 and schema.main(["--check"], tmp_path) == 0
    target = tmp_path / name
    target.write_text(target.read_text().replace("string", "number", 1))
    assert schema.main(["--check"], tmp_path) == 1


def test_the_plugins_types_name_every_shape_and_every_event() -> None:
    names = set(json.loads(schema.schema())["$defs"])
    lua, typescript = typings.lua(), typings.typescript()
    assert names == set(re.findall(r"^---@class loopline\.(\w+)$", lua, re.MULTILINE))
    assert names == set(re.findall(r"^export (?:interface|type) (\w+) (?:=|\{\n  \w)", typescript, re.MULTILINE)) - {
        "AnyEvent"
    }
    events = {kind.__name__ for kind in get_args(AnyEvent)}
    assert events == set(re.findall(r"^---\| loopline\.(\w+)$", lua, re.MULTILINE))
    assert events == set(re.findall(r"^  \| (\w+);?$", typescript, re.MULTILINE))


def test_the_schema_holds_every_method_and_no_dangling_reference() -> None:
    found = json.loads(schema.schema())
    names = {method.name for method in methods.COMMANDS}
    fixed = {"turn.start", "turn.cancel", "turn.steer", "turn.undo", "session.new", "session.list", "session.resume",
             "approval.answer", "model.select", "dashboard.open", "trust"}  # fmt: skip
    assert {f"loopline.{name}" for name in fixed} <= names == set(found["commands"])
    assert set(found["requests"]) >= {"loopline/auth.set", "loopline/auth.status"}
    references = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(found)))
    assert references <= set(found["$defs"])
    assert found["$defs"]["TurnStart"]["required"] == ["task"]


async def test_what_is_announced_is_what_is_registered(tmp_path: Path) -> None:
    async with inside(tmp_path) as ours:
        capabilities = (await ours.initialize())["result"]["capabilities"]
        announced = capabilities["experimental"]["loopline"]
        manager = ours.server.protocol.fm
        assert set(announced["commands"]) == set(capabilities["executeCommandProvider"]["commands"])
        assert set(announced["requests"]) | set(announced["clientNotifications"]) == {
            name for name in manager.features if name.startswith("loopline/")
        }


def test_every_update_of_the_core_comes_through_the_control_socket() -> None:
    assert set(events.TurnEvent.__subclasses__()) == set(get_args(events.AnyTurnEvent))


def test_whoever_comes_late_is_told_how_things_stand() -> None:
    recent = Recent()
    ids = {"session_id": "s", "turn_id": "t"}
    for event in (events.TurnBegan(**ids, title="x"), TextDelta(**ids, text="ab"), TextDelta(**ids, text="c")):
        recent.put(event)
    plan = Plan(session_id="s", turn_id="t", steps=())
    recent.put(Plan(session_id="s", turn_id="t", steps=(Step(text="old", status="pending"),)))
    recent.put(plan)
    recent.put(Plan(session_id="s", turn_id="an earlier turn", steps=()))
    assert recent.events(text_too=True) == [TextDelta(session_id="s", turn_id="t", text="abc"), plan]
    assert recent.events(text_too=False) == [plan]
    recent.put(events.TextDone(**ids, text="abcd"))
    assert recent.events(text_too=True) == [plan]
    recent.put(events.TurnBegan(session_id="s", turn_id="t2", title="y"))
    assert recent.events(text_too=True) == []
