from __future__ import annotations

import subprocess
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.tools.workspace.diffs import diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "long line"]), max_size=30)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


def applied(old: str, hunks: str) -> str:
    """Apply a unified diff by its line numbers alone."""
    lines = [line + "\n" for line in old.split("\n")]
    lines[-1] = lines[-1][:-1]
    if lines[-1] == "":
        lines.pop()
    found: list[str] = []
    at = 0
    body = hunks.split("\n")[:-1]
    for index, line in enumerate(body):
        open_end = index + 1 < len(body) and body[index + 1].startswith("\\")
        text = line[1:] + ("" if open_end else "\n")
        if line.startswith("@@"):
            first, _, length = line.split()[1][1:].partition(",")
            start = int(first) - (length != "0")
            found += lines[at:start]
            at = start
        elif line[0] in " -":
            assert lines[at] == text
            at += 1
            if line[0] == " ":
                found.append(text)
        elif line[0] == "+":
            found.append(text)
    return "".join(found + lines[at:])


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS)
def test_a_diff_leads_from_one_text_to_the_other(old: str, new: str) -> None:
    change = diff(old, new)
    assert applied(old, change.hunks) == new
    assert change.added - change.removed == new.count("\n") + (new[-1:] not in ("", "\n")) - (
        old.count("\n") + (old[-1:] not in ("", "\n"))
    )
    assert (change.hunks == "") == (old == new)


def test_git_applies_what_is_written(tmp_path: Path) -> None:
    old = "".join(f"{number}\n" for number in range(60)) + "open end"
    new = old.replace("5\n", "five\n", 1).replace("40\n", "").replace("open end", "closed\n")
    (tmp_path / "f.txt").write_text(old)
    subprocess.run(
        ["git", "apply", "-"], cwd=tmp_path, input=diff(old, new).with_header("f.txt", "f.txt").encode(), check=True
    )
    assert (tmp_path / "f.txt").read_text() == new


def test_line_ends_do_not_count_as_changes() -> None:
    assert diff("a\r\nb\r\n", "a\nb\n").hunks == ""


def test_a_costly_comparison_is_left_out() -> None:
    old = "".join(f"{number % 7}\n" for number in range(20_000))
    new = "".join(f"{number % 5}\n" for number in range(20_000))
    started = time.perf_counter()
    change = diff(old, new)
    assert time.perf_counter() - started < 20
    assert applied(old, change.hunks) == new
