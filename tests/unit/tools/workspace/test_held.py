from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from agent_core.tools.workspace.held import MAX_LATER, HeldRules
from agent_core.tools.workspace.ignore import OWN_IGNORE_FILE, closed

NAMES = ("a", "b.txt", "sub/a", "sub/deep/b.txt", "sub/c", "d/e")
LINES = ("a", "!a", "*.txt", "!b.txt", "sub/", "/d", "*", "!*", "c", "# c", "", "sub/**", "!sub/")


def closed_now(root: Path, held: HeldRules) -> set[str]:
    """What tools may not read: by the files as they are, or by what is held."""
    return {name for name in NAMES if closed(str(root), name) or held.closed(str(root), name)}


def make(root: Path) -> None:
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_written_only_closes_more(tmp_path: Path, seed: int) -> None:
    die = random.Random(seed)
    make(tmp_path)
    places = [tmp_path / OWN_IGNORE_FILE, tmp_path / "sub" / OWN_IGNORE_FILE, tmp_path / "sub/deep" / OWN_IGNORE_FILE]

    def write() -> None:
        die.choice(places).write_text("\n".join(die.choices(LINES, k=die.randrange(4))))

    write()
    held = HeldRules()
    held.take([str(tmp_path)])
    before = closed_now(tmp_path, held)
    for _ in range(MAX_LATER + 4):
        write()
        for prefix in ("", "sub/", "sub/deep/"):
            held.note(str(tmp_path), prefix)
        now = closed_now(tmp_path, held)
        assert before <= now
        assert {name for name in NAMES if closed(str(tmp_path), name)} <= now
        assert now == closed_now(tmp_path, HeldRules.of(held.told())), "another process knows the same"
        before = now


def test_an_exception_of_the_start_is_one_and_a_later_one_is_none(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / OWN_IGNORE_FILE).write_text("*.txt\n!b.txt\nc\n")
    held = HeldRules()
    held.take([str(tmp_path)])
    assert closed_now(tmp_path, held) == {"sub/c"}
    (tmp_path / "sub" / OWN_IGNORE_FILE).write_text("!c\n")
    held.take([str(tmp_path)])
    held.note(str(tmp_path), "sub/")
    assert closed_now(tmp_path, held) == {"sub/c"}


def test_a_person_opens_it_again(tmp_path: Path) -> None:
    make(tmp_path)
    file = tmp_path / OWN_IGNORE_FILE
    file.write_text("a\n")
    held = HeldRules()
    held.take([str(tmp_path)])
    assert held.settled(str(tmp_path), "") and held.settled(str(tmp_path), "sub/")
    file.write_text("")
    assert not held.settled(str(tmp_path), "") and closed_now(tmp_path, held) == {"a", "sub/a"}
    held.confirm(str(tmp_path), "")
    assert held.settled(str(tmp_path), "") and not closed_now(tmp_path, held)


def test_nothing_held_costs_nothing_and_closes_nothing(tmp_path: Path) -> None:
    make(tmp_path)
    held = HeldRules()
    held.take([str(tmp_path), str(tmp_path / "missing")])
    assert not held.holds(str(tmp_path)) and held.knows(str(tmp_path))
    assert not any(itertools.starmap(held.closed, ((str(tmp_path), name) for name in NAMES)))
