"""Files that were read, edits between texts, clues."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.repair.actions import FileText
from agent_core.repair.failures import Failure
from agent_core.repair.operators.base import Candidate
from agent_core.repair.project import Project, edits_between
from agent_core.repair.search import rebased
from agent_core.repair.source import Replacement

LINES = st.lists(st.sampled_from(["a", "b", "  c", "x = 1", ""]), min_size=1, max_size=14)


@settings(max_examples=60, deadline=None)
@given(LINES, LINES)
def test_edits_lead_from_one_text_to_the_other(before: list[str], after: list[str]) -> None:
    text = "\n".join(before).rstrip("\n")
    wanted = "\n".join(after).rstrip("\n")
    if not text.strip():
        return
    for edit in edits_between("m.py", text, wanted):
        assert text.count(edit.old) == 1 or edit.old == text
        assert edit.old != edit.new
        text = text.replace(edit.old, edit.new)
    assert text.rstrip("\n") == wanted


def test_an_edit_shows_no_more_than_it_needs() -> None:
    (edit,) = edits_between("m.py", "a\nb\nc\n", "a\nB\nc\n")
    assert (edit.old, edit.new) == ("b", "B")
    (edit,) = edits_between("m.py", "x\na\nx\n", "x\na\ny\n")
    assert (edit.old, edit.new) == ("a\nx", "a\ny")


def test_pieces_make_a_file() -> None:
    project = Project()
    assert project.add(FileText("m.py", 1, 2, 3, "a = 1\nb = 2")) == 3
    assert "m.py" not in project.texts
    assert project.add(FileText("m.py", 3, 3, 3, "c = 3")) is None
    assert project.texts["m.py"] == "a = 1\nb = 2\nc = 3\n"


def test_clues_come_from_the_failing_test_alone() -> None:
    project = Project(
        {
            "tests/test_m.py": (
                "import pytest\n\n\ndef test_a():\n    with pytest.raises(KeyError):\n        find('x', 7)\n\n\n"
                "def test_b():\n    assert other(99)\n"
            ),
            "pkg/m.py": "def find(name, count):\n    return name\n",
        }
    )
    failure = Failure("tests/test_m.py::test_a", "Failed", "DID NOT RAISE", ())
    clues = project.clues([failure])
    assert clues.expected_errors == ("KeyError",)
    assert set(clues.constants) == {"x", 7}
    assert clues.project == (("find", "pkg.m"),)
    assert project.called([failure]) == ["find"]


def candidate(start: int, end: int, text: str) -> Candidate:
    return Candidate("m.py", (Replacement(start, end, text),), "k", "r", 1, 0.5)


def test_an_edit_on_top_of_another_is_told_in_terms_of_the_original() -> None:
    base = (candidate(2, 4, "XYZ"),)  # abcdefgh -> abXYZefgh
    after = rebased(base, (candidate(6, 7, "?"),))  # f -> ?
    assert after is not None
    assert after[1].replacements == (Replacement(5, 6, "?"),)
    before = rebased(base, (candidate(0, 1, "?"),))
    assert before is not None
    assert before[1].replacements == (Replacement(0, 1, "?"),)
    assert rebased(base, (candidate(3, 6, "?"),)) is None
