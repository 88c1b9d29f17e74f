"""VS Code for tests: npm's code-server with a Node of its own, kept under `.cache/editors/`.

No install script is run and a third of what it would bring is left out, which saves minutes, a compiler and Kerberos'
headers. The log files that its output channels are read from are written by `vscode_logs.js` in place of a compiled
module.
"""

from __future__ import annotations

import json
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
LOGS_SCRIPT = Path(__file__).with_name("vscode_logs.js")
LEFT_OUT = (LOGS, "@devcontainers/cli", "@github/copilot-sdk", "@microsoft/mxc-sdk", "@vscode/sqlite3")
"""Of the editor's own agents, containers and sandboxes, which nothing here starts."""
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
    wanted = f"code-server {CODE_SERVER} node {NODE} {architecture} without {' '.join(LEFT_OUT)}"
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
    package = vscode / "package.json"
    told = json.loads(package.read_text())
    for name in LEFT_OUT:
        told["dependencies"].pop(name, None)
    package.write_text(json.dumps(told))
    install(plain, vscode)
    logs = vscode / "node_modules" / LOGS
    logs.mkdir(parents=True)
    shutil.copy(LOGS_SCRIPT, logs / "index.js")


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
