"""A sample of the corpus, spread over the kinds, and a large project. The whole corpus: tests/soak."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repair.cases import HELD_OUT, cases
from tests.support.repair.corpus import judge
from tests.support.repair.tools import LooplineTools, play

SAMPLE = (
    "off_by_one_3",
    "boolean_logic_2",
    "argument_order_1",
    "missing_base_case_1",
    "initial_value_3",
    "collection_method_1",
    "missing_else_3",
    "mutation_1",
)


@pytest.mark.parametrize("name", SAMPLE)
async def test_sample(name: str) -> None:
    (case,) = [case for case in cases() if case.name == name]
    verdict = await judge(case)
    assert verdict.outcome == "fixed", verdict.last


def test_the_corpus_is_complete() -> None:
    found = cases()
    assert len(found) >= 40
    assert len({case.kind for case in found}) >= 15
    for case in found:
        for folder in ("tests/", HELD_OUT):
            assert any(path.startswith(folder + "test_") for path in case.files), case.name
        assert case.fixed().files != case.files, case.name


CHAIN = 20
"""Modules of the large project import each other in chains of this length."""


def write_large_project(root: Path, bug: int) -> None:
    """200 modules that add numbers along chains; one of them subtracts. Tests of two chains call every link."""
    (root / "big").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "big" / "__init__.py").write_text("")
    (root / "tests" / "__init__.py").write_text("")
    for number in range(200):
        last = number % CHAIN == CHAIN - 1
        head = "" if last else f"from big.part{number + 1:03} import step as following\n\n\n"
        rest, sign = "value" if last else "following(value)", "-" if number == bug else "+"
        body = f"def step(value):\n    return {rest} {sign} {number}\n\n\ndef double(value):\n    return value * 2\n"
        (root / "big" / f"part{number:03}.py").write_text(head + body)
        if number % CHAIN == 0 or bug - 12 <= number <= bug + 5:
            wanted = sum(range(number, number - number % CHAIN + CHAIN))
            (root / "tests" / f"test_part{number:03}.py").write_text(
                f"import unittest\nfrom big.part{number:03} import double, step\n\n\n"
                f"class PartTest(unittest.TestCase):\n"
                f"    def test_chain(self):\n        self.assertEqual(step(0), {wanted})\n\n"
                f"    def test_double(self):\n        self.assertEqual(double(2), 4)\n"
            )


async def test_one_bug_among_two_hundred_modules(tmp_path: Path) -> None:
    """Localisation finds the file without reading all of them."""
    root = tmp_path / "project"
    write_large_project(root, 133)
    played = await play(LooplineTools(root))
    assert played.fixed, played.last
    assert "part133" in played.last
    reads = {arguments["path"] for name, arguments, _ in played.calls if name == "read"}
    assert len(reads) <= 8
    assert played.replies <= 14
