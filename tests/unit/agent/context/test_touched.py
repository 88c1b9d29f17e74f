"""The plan and the touched files, from calls as they come and from a history."""

from __future__ import annotations

import json
from typing import Any

from agent_core.agent.calls import Call
from agent_core.agent.context.fragments import MAX_TOKENS, tokens_of
from agent_core.agent.context.touched import TouchedFiles


def call(name: str, **arguments: Any) -> Call:
    return Call(call_id="c", key="c", name=name, arguments=json.dumps(arguments), item_type="function_call")


def test_what_survives_names_the_plan_and_the_files() -> None:
    trail = TouchedFiles()
    trail.note(call("plan", steps=["todo: old"]))
    trail.note(call("plan", steps=["done: look", "doing: mend"]))
    assert trail.note(call("read", path="a.py", start=1)) == ["a.py"]
    assert trail.note(call("list", path="src")) == ["src"]
    trail.note(call("read", path="b.py"))
    trail.note(call("edit", path="a.py", old="x", new="y"), ("a.py",))
    text = trail.text()
    assert "- doing: mend" in text and "old" not in text
    assert "Files changed so far: a.py" in text
    assert "Files read so far, latest last: b.py" in text
    assert "src" not in text


def test_a_history_gives_the_same_trail_as_the_run_did() -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: new.py\n+z\n*** End Patch"
    calls = [
        call("plan", steps=["todo: it"]),
        call("read", path="b.py"),
        call("edit", path="c.py", old="", new="x"),
        call("patch", patch=patch),
    ]
    live, recalled = TouchedFiles(), TouchedFiles()
    for each, changed in zip(calls, ((), (), ("c.py",), ("src/a.py", "new.py")), strict=True):
        live.note(each, changed)
    recalled.recall(calls)
    assert recalled.text() == live.text() != ""
    assert recalled.files == live.files == {"b.py": False, "c.py": True, "src/a.py": True, "new.py": True}


def test_a_unified_diff_names_its_files_too() -> None:
    trail = TouchedFiles()
    assert trail.note(call("patch", patch="--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n")) == ["x.py"]


def test_odd_arguments_are_passed_over_and_nothing_grows_without_bound() -> None:
    trail = TouchedFiles()
    for odd in ("", "[]", "{", '{"path":1}', '{"steps":1}'):
        for name in ("plan", "read", "edit", "patch"):
            trail.note(Call(call_id="c", key="c", name=name, arguments=odd, item_type="function_call"))
    assert trail.text() == ""
    for n in range(5_000):
        trail.note(call("read", path=f"some/long/folder/file_{n}.py"))
    trail.note(call("plan", steps=["todo: a long step " * 50] * 50))
    assert tokens_of(trail.text()) <= MAX_TOKENS["footprint"]
