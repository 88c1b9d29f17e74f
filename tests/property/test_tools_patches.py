"""A diff that we write is a patch that we apply, and no text given as a patch does anything but be refused."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.errors import ToolError
from agent_core.tools.files.patch_format import read_patch
from agent_core.tools.files.patch_match import patched
from agent_core.tools.workspace.diffs import diff
from agent_core.tools.workspace.text import View
from tests.support.tools.toolbox import Bench

LINES = st.lists(
    st.sampled_from(["a", "b", "", "  b", "+c", "-d", "--- x", "+++ y", "-- x", "++ y", "@@ z", "\\ n", "é\u2028f"]),
    max_size=25,
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = draw(LINES)
    return end.join(lines) + draw(st.sampled_from(["", end]))


@settings(max_examples=300, deadline=None)
@given(texts(), texts())
def test_a_diff_applied_gives_the_new_text(old: str, new: str) -> None:
    change = diff(old, new)
    if not old or not change.hunks:
        return
    section = read_patch(change.with_header("f", "f"))[0]
    assert (section.kind, section.path) == ("update", "f")
    after = patched(old, section.hunks, "f")
    assert View(after).flat == View(new).flat
    kept = [line for line in old.split("\n") if line in after.split("\n")]
    assert all(line in after for line in kept)


@settings(max_examples=60, deadline=None)
@given(texts(), texts())
def test_the_tool_writes_what_the_diff_says(old: str, new: str) -> None:
    async def run(bench: Bench) -> None:
        bench.write("f", old)
        result = await bench.run("patch", patch=diff(old, new).with_header("f", "f") or "x")
        if result.status == "ok":
            assert View(bench.bytes("f").decode()).flat == View(new).flat
        else:
            assert bench.bytes("f").decode() == old
            assert not diff(old, new).hunks or not old

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Bench(Path(folder))))


GARBAGE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "*** Begin Patch",
                "*** End Patch",
                "*** Add File: a",
                "*** Update File: f",
                "*** Delete File: f",
                "*** Move to: b",
            ]
        ),
        st.sampled_from(
            ["@@", "@@ a", "@@ -1,2 +1 @@", "--- a/f", "+++ b/f", "--- /dev/null", "+++ /dev/null", "*** End of File"]
        ),
        st.sampled_from([" a", "-a", "+b", "", "diff --git a/f b/f", "rename from f", "rename to g", "\\ No newline"]),
        st.text(max_size=8),
    ),
    max_size=14,
).map("\n".join)


@settings(max_examples=400, deadline=None)
@given(GARBAGE)
def test_any_text_is_read_or_refused(patch: str) -> None:
    try:
        sections = read_patch(patch)
        for section in sections:
            patched("a\nb\na\n", section.hunks, "f")
    except ToolError as error:
        assert error.code in ("bad_patch", "not_found", "ambiguous")
