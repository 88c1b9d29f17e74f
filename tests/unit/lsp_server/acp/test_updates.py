"""Turn events in, updates out, each held against the protocol's own models."""

from __future__ import annotations

import difflib
from typing import Any

from acp import schema
from hypothesis import given
from hypothesis import strategies as st

from agent_core.tools.workspace.diffs import diff
from agent_core.turns import events as ev
from agent_core.turns.approval import Approval
from lsp_server.acp.tool_calls import MAX_TEXT, hunks, text_content, title_of
from lsp_server.acp.updates import Updates

IDS: Any = {"session_id": "s", "turn_id": "t"}


def told(*events: ev.TurnEvent) -> list[Any]:
    updates = Updates(lambda shown: f"/work/{shown}")
    found = [update for event in events for update in updates.of(event)]
    for update in found:
        schema.SessionNotification.model_validate({"sessionId": "s", "update": update})
    return found


def said(updates: list[Any], kind: str = "agent_message_chunk") -> str:
    return "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == kind)


def delta(text: str) -> ev.TurnEvent:
    return ev.TextDelta(**IDS, text=text)


def whole(text: str) -> ev.TurnEvent:
    return ev.TextDone(**IDS, text=text)


def ended(**facts: Any) -> ev.ToolEnded:
    plain: Any = {"name": "edit", "status": "ok", "summary": "", "diff": "", "files_changed": (), "duration_ms": 1.0}
    return ev.ToolEnded(**IDS, tool_call_id="c", **{**plain, **facts})


def test_a_text_is_told_once_streamed_or_not() -> None:
    assert said(told(delta("Hel"), delta("lo"), whole("Hello"))) == "Hello"
    assert said(told(whole("Hello"))) == "Hello"
    assert said(told(delta("Hel"), whole("Hello"), whole("Hello"))) == "HelloHello"


def test_what_was_voided_is_said_to_be() -> None:
    updates = told(delta("Hal"), ev.TextVoided(**IDS, cause="connection lost"), delta("Hello"), whole("Hello"))
    assert said(updates) == "HalHello" and "connection lost" in said(updates, "agent_thought_chunk")


def test_how_full_the_conversation_is_where_the_models_window_is_known() -> None:
    assert told(ev.ContextSize(session_id="s", tokens=10)) == []
    (update,) = told(ev.ContextSize(session_id="s", tokens=10, window_tokens=200))
    assert update == {"sessionUpdate": "usage_update", "used": 10, "size": 200}


def test_thoughts_are_told_once() -> None:
    piece, end = ev.ReasoningDelta(**IDS, text="Hm"), ev.ReasoningDone(**IDS, text="Hm", duration_ms=1)
    assert said(told(piece, end), "agent_thought_chunk") == said(told(end), "agent_thought_chunk") == "Hm"


def test_a_call_that_asked_begins_once() -> None:
    asked = Approval(
        approval_id="a",
        session_id="s",
        turn_id="t",
        kind="command",
        name="shell",
        subject="ls\x1b[2J",
        tool_call_id="c",
    )
    began = ev.ToolBegan(**IDS, tool_call_id="c", name="shell", arguments='{"command": "ls"}')
    updates = told(ev.ApprovalAsked(approval=asked), began, ended(name="shell", output="a\nb", status="denied"))
    assert [each["sessionUpdate"] for each in updates] == ["tool_call", "tool_call_update", "tool_call_update"]
    assert "\x1b" not in updates[0]["title"] and updates[1]["rawInput"] == {"command": "ls"}
    assert updates[2]["status"] == "failed" and updates[2]["_meta"]["loopline"]["tool"]["status"] == "denied"


def test_output_of_a_running_tool_is_its_latest_lines() -> None:
    lines = [ev.ToolOutput(**IDS, tool_call_id="c", line=str(number)) for number in range(100)]
    text = told(*lines)[-1]["content"][0]["content"]["text"]
    assert text.split("\n") == [str(number) for number in range(80, 100)]


@given(st.lists(st.sampled_from(["a\n", "b\n", "c\n", "--- x\n", "+++ y\n", "@@ -1 +1 @@\n", "\n"]), max_size=30),
       st.lists(st.sampled_from(["a\n", "b\n", "d\n", "--- z\n", "+++ y\n", "\\ no\n"]), max_size=30))  # fmt: skip
def test_pieces_of_a_difference_say_what_it_says(old: list[str], new: list[str]) -> None:
    text = diff("".join(old), "".join(new)).with_header("f.txt", "f.txt")
    found = list(hunks(text))
    assert bool(found) is bool(text)
    before, after = "".join(old), "".join(new)
    for hunk in found:
        assert hunk.path == "f.txt" and hunk.old is not None and hunk.old in before and hunk.new in after
        assert after.splitlines(keepends=True)[hunk.line - 1 :][: hunk.new.count("\n")] == hunk.new.splitlines(True)
    removed = [line for line in difflib.ndiff(old, new) if line.startswith("- ")]
    assert not removed or found


def test_new_and_deleted_files() -> None:
    made, gone = diff("", "x\n").with_header(None, "a b.py"), diff("x\n", "").with_header("old.py", None)
    (first, second) = hunks(made + gone)
    assert (first.path, first.old, first.new) == ("a b.py", None, "x\n")
    assert (second.path, second.old, second.new) == ("old.py", "x\n", "")
    update = told(ended(diff=made + gone))[0]
    assert [each["path"] for each in update["content"]] == ["/work/a b.py", "/work/old.py"]
    assert "oldText" not in update["content"][0]


def test_long_texts_are_clipped_and_titles_are_one_line() -> None:
    shown = text_content("x" * (MAX_TEXT + 5))["content"]["text"]
    assert shown.endswith("[5 more characters]")
    assert title_of("shell", {"command": "a\nb\x1b[31m"}) == "shell: a b" and title_of("odd", 7) == "odd"
    assert len(title_of("shell", {"command": "x" * 5000})) <= 200


def test_a_notice_is_told_where_it_warns() -> None:
    assert told(ev.Notice(severity="info", text="fine")) == []
    assert "no sandbox" in said(told(ev.Notice(severity="warning", text="no sandbox")), "agent_thought_chunk")


def test_paths_are_whole() -> None:
    assert told(ended(files_changed=("a.py",), name="shell", by="command"))[0]["locations"] == [{"path": "/work/a.py"}]
