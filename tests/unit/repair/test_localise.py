"""Data flow, localisation and ranking."""

from __future__ import annotations

from agent_core.repair import dataflow, localise, rank
from agent_core.repair.failures import Failure
from agent_core.repair.operators.base import Clues
from agent_core.repair.scratch import Coverage
from agent_core.repair.source import Source

TEXT = """\
def total(prices, rate):
    label = str(rate)
    print(label)
    net = 0
    for price in prices:
        net += price
    tax = net * rate
    return net + tax


def unused(value):
    return value + 1
"""


def test_data_flow_leaves_out_what_the_result_does_not_need() -> None:
    region = Source("m.py", TEXT).regions[0]
    steps = dataflow.distances(region, [8])
    assert steps[8] == 0
    assert steps[7] == 1
    assert steps[6] == 1
    assert steps[4] == 1
    assert 2 not in steps
    assert 3 not in steps


def test_data_flow_follows_conditions_and_attributes() -> None:
    text = "def f(self, x):\n    y = self.a\n    self.b = y\n    if x > y:\n        z = self.b\n    return z\n"
    region = Source("m.py", text).regions[0]
    assert dataflow.distances(region, [6]) == {6: 0, 5: 1, 4: 2, 3: 2, 2: 3}


def test_written_and_read() -> None:
    text = "def f(a, b):\n    a[0], b.c = b.d, 1\n    a.append(b)\n    a += b\n"
    first, second, third = Source("m.py", text).regions[0].body
    assert dataflow.written(first) == {"a", "b.c"}
    assert dataflow.read(first) >= {"b.d", "a"}
    assert "a" in dataflow.written(second)
    assert {"a", "b"} <= dataflow.read(third)


def test_lines_that_only_failing_tests_run_weigh_most() -> None:
    failure = Failure("tests/test_m.py::test_a", "AssertionError", "", (("tests/test_m.py", 3, "test_a"),))
    coverage = Coverage("m.py", {4: (1, 9), 6: (1, 0), 11: (1, 99)})
    tests = Coverage("tests/test_m.py", {3: (1, 0)})
    weights = localise.by_coverage([coverage, tests], [failure], 1)
    assert list(weights) == ["m.py"]
    lines = weights["m.py"]
    assert lines[6] > lines[4] > lines[11]


def test_tracebacks_raise_the_weight() -> None:
    failure = Failure("t", "ValueError", "", (("tests/test_m.py", 3, "t"), ("m.py", 6, "total"), ("m.py", 4, "total")))
    coverage = Coverage("m.py", {4: (1, 1), 6: (1, 1), 7: (1, 1)})
    lines = localise.by_coverage([coverage], [failure], 1)["m.py"]
    assert lines[4] > lines[6] > lines[7]


def test_without_coverage_called_functions_are_suspected() -> None:
    source = Source("m.py", TEXT + "\n\ndef outer(x):\n    return unused(x)\n")
    weights = localise.by_traceback({"m.py": source}, [], ["outer"])["m.py"]
    assert weights[16] > weights[12] > 0
    assert 4 not in weights


def test_ranking_prefers_suspected_lines_and_keeps_equal_edits_once() -> None:
    source = Source("m.py", TEXT)
    ranked = rank.candidates({"m.py": source}, {"m.py": {6: 0.2, 7: 1.0, 8: 1.0}}, [], Clues())
    assert ranked[0].line in (7, 8)
    made = {(item.replacements, item.path) for item in ranked}
    assert len(made) == len(ranked)
    assert not any(item.line == 12 for item in ranked)


def test_module_level_edits_are_cold_and_bodies_are_not() -> None:
    text = "LIMIT = 3\n\n\ndef f(x, y=2):\n    return x + LIMIT\n\n\nVALUE = f(1)\n"
    source = Source("m.py", text)
    ranked = rank.candidates({"m.py": source}, {"m.py": {1: 1.0, 4: 1.0, 5: 1.0, 8: 1.0}}, [], Clues())
    cold = {item.line: rank.is_cold(source, item, frozenset()) for item in ranked if len(item.replacements) == 1}
    assert cold[1]
    assert cold[4]
    assert cold[8]
    assert not cold[5]
    body = next(item for item in ranked if item.line == 5)
    assert rank.is_cold(source, body, frozenset({5})), "import runs the body here"
