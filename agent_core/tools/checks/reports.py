"""What test runners print, as counts and failures. Pure: text in, `Report` out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal
from xml.etree import ElementTree

import msgspec

CheckStatus = Literal["passed", "failed", "none", "error"]
"""`none`: no tests were found. `error`: the runner itself did not get through."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """`file` is relative to the root; it and `line` are None where the runner did not tell. `message` is one line."""

    id: str
    file: str | None
    line: int | None
    message: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Counts are None where the runner did not tell them."""

    status: CheckStatus
    failed: int | None = None
    passed: int | None = None
    errors: int | None = None
    skipped: int | None = None
    failures: tuple[Failure, ...] = ()


_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+)', re.MULTILINE)

_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
_RESULT = re.compile(r"^(OK|FAILED|NO TESTS RAN)(?: \(([^)]*)\))?\s*$", re.MULTILINE)
_SECTION = re.compile(r"^={70}\n(FAIL|ERROR|UNEXPECTED SUCCESS): (.+)\n", re.MULTILINE)


def unittest_report(output: str, root: str) -> Report:
    """From what `python -m unittest` prints, with or without -v."""
    ran, results = _RAN.search(output), _RESULT.findall(output)
    if ran is None or not results:
        return Report(status="error")
    total = int(ran[1])
    notes = dict(part.split("=") for part in results[-1][1].split(", ") if "=" in part)
    failed = int(notes.get("failures", 0)) + int(notes.get("unexpected successes", 0))
    errors, skipped = int(notes.get("errors", 0)), int(notes.get("skipped", 0))
    failures = tuple(_unittest_failures(output, root))
    bad = failed + errors
    passed = max(0, total - sum(int(count) for count in notes.values()) + int(notes.get("expected failures", 0)))
    # Modules that can't be imported are counted as tests; class and module fixtures that fail are not.
    status: CheckStatus = "failed" if bad else ("none" if total == 0 else "passed")
    return Report(status=status, failed=failed, passed=passed, errors=errors, skipped=skipped, failures=failures)


def _unittest_failures(output: str, root: str) -> list[Failure]:
    found: list[Failure] = []
    heads = list(_SECTION.finditer(output))
    for index, head in enumerate(heads):
        end = heads[index + 1].start() if index + 1 < len(heads) else len(output)
        body = output[head.end() : end]
        tail = re.search(r"^-{70}\nRan ", body, re.MULTILINE)
        body = body[: tail.start()] if tail else body
        file, line = last_frame(body, root)
        found.append(Failure(id=_unittest_id(head[2]), file=file, line=line, message=_message(body)))
    return found


def _unittest_id(title: str) -> str:
    """`test_a (tests.test_x.Case.test_a)` and the older `test_a (tests.test_x.Case)` as the dotted name."""
    match = re.match(r"(\S+) \(([\w.]+)\)(.*)", title)
    if match is None:
        return title.strip()
    name, where, rest = match.groups()
    dotted = where if where.endswith("." + name) or where == name else f"{where}.{name}"
    return dotted.removeprefix("unittest.loader._FailedTest.") + rest.rstrip()


def last_frame(trace: str, root: str) -> tuple[str | None, int | None]:
    """The innermost frame of a traceback that lies in the workspace and not in installed packages."""
    for file, line in reversed(_FRAME.findall(trace)):
        relative = _inside(file, root)
        if relative is not None and "site-packages" not in relative and not relative.startswith((".venv/", "venv/")):
            return relative, int(line)
    return None, None


def _inside(file: str, root: str) -> str | None:
    prefix = root.rstrip("/") + "/"
    if file.startswith(prefix):
        return file[len(prefix) :]
    return None if file.startswith(("/", "<")) else file


_ERROR_LINE = re.compile(r"^(?:E\s+)?([\w.]*(?:Error|Exception|Failure|Warning|Interrupt|Exit)\b.*)$", re.MULTILINE)


def _message(body: str) -> str:
    errors = _ERROR_LINE.findall(body)
    if errors:
        return str(errors[-1])[:500]
    lines = [line for line in body.split("\n") if line.strip() and not line.startswith("---")]
    return lines[-1].strip()[:500] if lines else ""


def pytest_report(xml: bytes | None, exit_code: int | None, root: str) -> Report:
    """From pytest's JUnit file (family xunit1) and exit code. 5: nothing collected. 2 to 4: it did not get through."""
    if xml is None:
        return Report(status="none" if exit_code == 5 else "error")
    try:
        suites = ElementTree.fromstring(xml)
    except ElementTree.ParseError:
        return Report(status="error")
    cases = list(suites.iter("testcase"))
    failures: list[Failure] = []
    counts = {"failure": 0, "error": 0, "skipped": 0}
    for case in cases:
        for kind in counts:
            for found in case.findall(kind):
                counts[kind] += 1
                if kind != "skipped":
                    failures.append(_pytest_failure(case, found, root))
    bad = counts["failure"] + counts["error"]
    passed = sum(not any(case.find(kind) is not None for kind in counts) for case in cases)
    if exit_code == 5 or (not cases and exit_code == 0):
        status: CheckStatus = "none"
    elif bad:
        status = "failed"
    else:
        status = "passed" if exit_code == 0 else "error"
    return Report(
        status=status,
        failed=counts["failure"],
        passed=passed,
        errors=counts["error"],
        skipped=counts["skipped"],
        failures=tuple(failures),
    )


def _pytest_failure(case: ElementTree.Element, found: ElementTree.Element, root: str) -> Failure:
    trace = found.text or ""
    file, line = last_frame(trace, root)
    if file is None:
        file = case.get("file")
        given = case.get("line")
        line = int(given) + 1 if given and given.isdecimal() else None
    return Failure(id=_pytest_id(case), file=file, line=line, message=(found.get("message") or _message(trace))[:500])


def _pytest_id(case: ElementTree.Element) -> str:
    """The node id, as pytest takes it: file, classes, test."""
    file, name, classname = case.get("file") or "", case.get("name") or "", case.get("classname") or ""
    if not file:
        return f"{classname}::{name}" if classname else name
    module = file.removesuffix(".py").replace("/", ".")
    classes = classname.removeprefix(module).strip(".").split(".") if classname.startswith(module) else []
    return "::".join([file, *(part for part in classes if part), name])


_JS_COUNTS: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"^(?:#|ℹ) pass (\d+)$", re.MULTILINE), "passed"),
    (re.compile(r"^(?:#|ℹ) fail (\d+)$", re.MULTILINE), "failed"),
    (re.compile(r"^(?:#|ℹ) skipped (\d+)$", re.MULTILINE), "skipped"),
    (re.compile(r"^Tests:.*?(\d+) passed", re.MULTILINE), "passed"),
    (re.compile(r"^Tests:.*?(\d+) failed", re.MULTILINE), "failed"),
    (re.compile(r"^Tests:.*?(\d+) skipped", re.MULTILINE), "skipped"),
    (re.compile(r"^\s+Tests\s.*?(\d+) passed", re.MULTILINE), "passed"),
    (re.compile(r"^\s+Tests\s.*?(\d+) failed", re.MULTILINE), "failed"),
    (re.compile(r"^\s+(\d+) passing\b", re.MULTILINE), "passed"),
    (re.compile(r"^\s+(\d+) failing\b", re.MULTILINE), "failed"),
    (re.compile(r"^\s+(\d+) pending\b", re.MULTILINE), "skipped"),
)
"""Closing lines of node's own runner, jest, vitest and mocha."""

_JS_FAILED = re.compile(r"^\s*(?:not ok \d+ - |✖ |● |✕ |× )(.+?)(?: \(\d[\d.]*\s?ms\))?$", re.MULTILINE)
_JS_FRAME = re.compile(r"(?:file://)?(/[^\s():]+\.[cm]?[jt]sx?):(\d+):\d+")


def npm_report(output: str, exit_code: int | None, root: str) -> Report:
    """From what `npm test` prints; the exit code decides, the counts are what a known runner said."""
    counts: dict[str, int] = {}
    for pattern, name in _JS_COUNTS:
        match = pattern.search(output)
        if match is not None:
            counts.setdefault(name, int(match[1]))
    status: CheckStatus = "passed" if exit_code == 0 else "failed"
    if exit_code is None or exit_code in (126, 127):
        status = "error"
    failures: dict[str, Failure] = {}
    if status == "failed":
        for match in _JS_FAILED.finditer(output):
            name = match[1].strip()
            if name not in failures and name != "failing tests:":
                file, line = _js_frame(output[match.end() :], root)
                failures[name] = Failure(id=name, file=file, line=line, message="")
    return Report(
        status=status,
        failed=counts.get("failed", 0 if counts else None),
        passed=counts.get("passed", 0 if counts else None),
        errors=0 if counts else None,
        skipped=counts.get("skipped", 0 if counts else None),
        failures=tuple(failures.values()),
    )


def _js_frame(trace: str, root: str) -> tuple[str | None, int | None]:
    for file, line in _JS_FRAME.findall(trace[:8000]):
        relative = _inside(file, root)
        if relative is not None and "node_modules" not in relative:
            return relative, int(line)
    return None, None
