from __future__ import annotations

import pytest

from agent_core.tools.checks.reports import npm_report, pytest_report, unittest_report

RULE, LINE = "=" * 70, "-" * 70


def test_older_pythons_name_tests_without_their_method() -> None:
    output = (
        f"{RULE}\nERROR: test_a (tests.test_x.Case)\n{LINE}\nTraceback (most recent call last):\n"
        '  File "/w/tests/test_x.py", line 3, in test_a\n    f()\n'
        '  File "/usr/lib/python3.9/json/x.py", line 9, in f\n'
        f"ValueError: bad\n\n{LINE}\nRan 2 tests in 0.001s\n\nFAILED (errors=1)\n"
    )
    report = unittest_report(output, "/w")
    assert (report.status, report.failed, report.errors, report.passed) == ("failed", 0, 1, 1)
    failure = report.failures[0]
    assert (failure.id, failure.file, failure.line) == ("tests.test_x.Case.test_a", "tests/test_x.py", 3)
    assert failure.message == "ValueError: bad"


def test_all_counts_of_unittest() -> None:
    notes = "failures=2, errors=1, skipped=1, expected failures=1, unexpected successes=1"
    output = f"{LINE}\nRan 9 tests in 1.2s\n\nFAILED ({notes})\n"
    report = unittest_report(output, "/w")
    assert (report.failed, report.errors, report.skipped, report.passed) == (3, 1, 1, 4)


def test_a_failing_class_fixture_counts_although_no_test_ran() -> None:
    output = (
        f"{RULE}\nERROR: setUpClass (test_x.Case)\n{LINE}\nTraceback (most recent call last):\n"
        '  File "/w/test_x.py", line 5, in setUpClass\nOSError: no\n\n'
        f"{LINE}\nRan 0 tests in 0.000s\n\nFAILED (errors=1)\n"
    )
    report = unittest_report(output, "/w")
    assert (report.status, report.errors, report.passed) == ("failed", 1, 0)


@pytest.mark.parametrize(
    ("output", "status"),
    [
        (f"{LINE}\nRan 3 tests in 0.1s\n\nOK\n", "passed"),
        (f"{LINE}\nRan 3 tests in 0.1s\n\nOK (skipped=3)\n", "passed"),
        (f"{LINE}\nRan 0 tests in 0.1s\n\nNO TESTS RAN\n", "none"),
        ("Segmentation fault\n", "error"),
        ("", "error"),
        ("Ran 3 tests in 0.1s\n", "error"),
    ],
)
def test_the_verdict_of_unittest(output: str, status: str) -> None:
    assert unittest_report(output, "/w").status == status


def test_the_innermost_frame_of_the_project_counts() -> None:
    output = (
        f"{RULE}\nFAIL: test_a (t.C.test_a)\n{LINE}\nTraceback (most recent call last):\n"
        '  File "/w/t.py", line 1, in test_a\n  File "/w/pkg/deep.py", line 7, in g\n'
        '  File "/w/.venv/lib/python3.11/site-packages/lib.py", line 5, in h\n  File "<string>", line 1, in <module>\n'
        f"KeyError: 'x'\n\n{LINE}\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n"
    )
    assert [(item.file, item.line) for item in unittest_report(output, "/w").failures] == [("pkg/deep.py", 7)]


@pytest.mark.parametrize(
    ("xml", "exit_code", "status"),
    [
        (None, 5, "none"),
        (None, 4, "error"),
        (None, None, "error"),
        (b"<broken", 1, "error"),
        (b'<testsuites><testsuite tests="0"/></testsuites>', 5, "none"),
        (b'<testsuites><testsuite><testcase name="a"/></testsuite></testsuites>', 0, "passed"),
        (b'<testsuites><testsuite><testcase name="a"/></testsuite></testsuites>', 3, "error"),
        (b'<testsuites><testsuite><testcase name="a"><failure/></testcase></testsuite></testsuites>', 1, "failed"),
    ],
)
def test_the_verdict_of_pytest(xml: bytes | None, exit_code: int | None, status: str) -> None:
    assert pytest_report(xml, exit_code, "/w").status == status


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("Tests:       1 failed, 1 skipped, 3 passed, 5 total\nTime: 1 s\n", (1, 3, 1)),
        ("  3 passing (12ms)\n  1 pending\n  1 failing\n\n  1) Array adds:\n", (1, 3, 1)),
        (" Test Files  1 failed (1)\n      Tests  2 failed | 4 passed (6)\n", (2, 4, 0)),
        ("# tests 3\n# pass 2\n# fail 1\n# skipped 0\n", (1, 2, 0)),
        ("something of its own\n", (None, None, None)),
    ],
    ids=["jest", "mocha", "vitest", "node", "unknown"],
)
def test_closing_lines_of_javascript_runners(output: str, counts: tuple[int | None, ...]) -> None:
    report = npm_report(output, 1, "/w")
    assert report.status == "failed"
    assert (report.failed, report.passed, report.skipped) == counts
    assert npm_report(output, 0, "/w").status == "passed"
    assert npm_report(output, 127, "/w").status == "error"


def test_failed_tests_of_jest_have_a_place() -> None:
    output = "● sum › adds (5 ms)\n\n    expect(3).toBe(4)\n\n      at Object.<anonymous> (/w/sum.test.js:4:20)\n"
    failure = npm_report(output, 1, "/w").failures[0]
    assert (failure.id, failure.file, failure.line) == ("sum › adds", "sum.test.js", 4)
