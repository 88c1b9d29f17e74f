"""VS Code for tests: npm's code-server with a Node of its own, kept under `.cache/editors/`.

Of what its install scripts would compile only the log files are needed here (output channels are read from them), so
no other script is run: that saves minutes, and Kerberos' headers.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.suite.installing import install, last_words, locked
from tests.support.suite.parts import lacking, program

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("LOOPLINE_CODE_SERVER_DIR", ROOT / ".cache" / "editors" / "code-server"))
CODE_SERVER = "4.139.1"
NODE = "24.21.0"
"""What code-server asks for, whatever the machine has."""
LOGS = "@vscode/spdlog"
INSTALL_S = 400.0
BUILD_S = 400.0
_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}


@dataclass(frozen=True)
class InstalledEditor:
    """An installed code-server: its Node, and the file to run with it."""

    node: Path
    entry: Path

    def command(self, *options: str) -> list[str]:
        return [str(self.node), str(self.entry), *options]


def installed_editor() -> InstalledEditor:
    """code-server, installed once. Skips the test where that can't be."""
    architecture = _ARCHITECTURES.get(platform.machine())
    if architecture is None or platform.system() != "Linux":
        lacking("linux", f"no code-server for {platform.system()} on {platform.machine()}")
    runtime = f"node-linux-{architecture}"
    found = InstalledEditor(
        node=FOLDER / "node_modules" / runtime / "bin" / "node",
        entry=FOLDER / "node_modules" / "code-server" / "out" / "node" / "entry.js",
    )
    wanted = f"code-server {CODE_SERVER} node {NODE} {architecture} {LOGS}"
    with locked(FOLDER):
        stamp = FOLDER / ".installed"
        if not stamp.exists() or stamp.read_text() != wanted:
            npm = program("npm")
            try:
                _install(npm, f"{runtime}@{NODE}")
            except (OSError, subprocess.SubprocessError) as error:
                lacking("registries", f"code-server can't be installed: {last_words(error)}")
            stamp.write_text(wanted)
    return found


def _install(npm: str, runtime: str) -> None:
    shutil.rmtree(FOLDER / "node_modules", ignore_errors=True)
    (FOLDER / "package.json").write_text('{"private":true}')
    plain = [npm, "install", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"]
    install([*plain, runtime, f"code-server@{CODE_SERVER}"], FOLDER)
    vscode = FOLDER / "node_modules" / "code-server" / "lib" / "vscode"
    install(plain, vscode)
    headers = FOLDER / "node_modules" / runtime.partition("@")[0]
    install([npm, "rebuild", LOGS, f"--nodedir={headers}", "--loglevel=error"], vscode)


def built_vsix() -> Path:
    """The extension as users get it, by `make extensions`, which does nothing where nothing changed. Another one, such
    as that of a release, is tested with its path in `LOOPLINE_VSIX`."""
    if (given := os.environ.get("LOOPLINE_VSIX")) is not None:
        return Path(given)
    program("npm")
    with locked(ROOT / ".cache" / "editors" / "build"):
        done = subprocess.run(["make", "extensions"], cwd=ROOT, capture_output=True, text=True, timeout=BUILD_S)
    assert done.returncode == 0, f"make extensions:\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    (found,) = (ROOT / "dist").glob("*.vsix")
    return found
