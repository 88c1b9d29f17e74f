"""A long output: both ends are shown, and every line of the rest can be read by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.errors import ToolError
from agent_core.tools.outputs import MAX_KEPT, MAX_KEPT_CHARACTERS, SLACK_CHARACTERS, Outputs
from agent_core.tools.port import ToolContext
from agent_core.tools.standard import standard_toolbox
from agent_core.tools.workspace.workspace import Workspace

REMARK = re.compile(r"\[lines (\d+)-(\d+) of (\d+) left out; read them with path='(output:\d+)'")


@given(st.lists(st.text(alphabet="ab é", max_size=90), max_size=300))
def test_what_is_shown_and_what_is_left_out_are_the_whole(lines: list[str]) -> None:
    outputs, text = Outputs(max_shown_characters=1_000), "\n".join(lines)
    shown = outputs.shown(text)
    assert len(shown) <= 1_000 + SLACK_CHARACTERS + 200
    found = REMARK.search(shown)
    if found is None:
        assert shown == text
        return
    first, last = int(found[1]), int(found[2])
    before, _, after = shown.partition(shown[found.start() :].split("\n", 1)[0])
    kept = outputs.lines(found[4])
    assert kept is not None and len(kept) == int(found[3])
    assert before + "\n".join(kept[first - 1 : last]) + after == text


def test_of_a_flood_both_ends_are_kept() -> None:
    outputs = Outputs()
    shown = outputs.shown("first\n" + "x\n" * MAX_KEPT_CHARACTERS + "last")
    assert shown.startswith("first\n") and shown.endswith("\nlast")
    kept = outputs.lines("output:1")
    assert kept is not None and any("characters are not kept" in line for line in kept)


def test_only_the_latest_are_kept_and_a_file_is_none() -> None:
    outputs = Outputs(max_shown_characters=100)
    for _ in range(MAX_KEPT + 1):
        outputs.shown("line\n" * 1_000)
    assert outputs.lines(f"output:{MAX_KEPT + 1}") is not None and outputs.lines("src/output:2") is None
    with pytest.raises(ToolError) as gone:
        outputs.lines("output:1")
    assert gone.value.code == "not_found"


async def test_the_model_reads_on_in_what_a_command_printed(tmp_path: Path) -> None:
    toolbox = standard_toolbox(Workspace([tmp_path]))
    context = ToolContext(tool_call="c")
    try:
        ran = await toolbox.run("shell", '{"command": "seq 1 30000"}', context)
        found = REMARK.search(ran.output)
        assert found is not None and ran.output.endswith("30000\nexit code: 0") and len(ran.output) < 34_000
        first = int(found[1])
        asked = f'{{"path": "{found[4]}", "start": {first}, "end": {first + 1}}}'
        more = await toolbox.run("read", asked, context)
        assert more.output.split("\n")[1:] == [f"{first}\t{first}", f"{first + 1}\t{first + 1}"]
        rest = await toolbox.run("read", f'{{"path": "{found[4]}", "start": {first}}}', context)
        assert re.search(r"\[cut here; read on with start=\d+\]$", rest.output)
        for wrong in ('{"path": "output:9"}', f'{{"path": "{found[4]}", "start": 99999}}'):
            assert (await toolbox.run("read", wrong, context)).status == "error"
    finally:
        await toolbox.close()
