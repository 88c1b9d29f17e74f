"""What commands in a sandbox may not see: places where keys, passwords and sessions lie, by their customary names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_core.config import config_dir, state_dir
from agent_core.tools.workspace.ignore import closed
from agent_core.tools.workspace.secret_names import SecretRules

_IN_HOME = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/hub"),
    *(
        ".netrc",
        ".pgpass",
        ".pypirc",
        ".npmrc",
        ".git-credentials",
        ".config/git/credentials",
        ".cargo/credentials.toml",
    ),
    *(".local/share/keyrings", ".password-store", ".config/keepassxc", ".config/op", ".terraform.d", ".vault-token"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware"),
    *("Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome"),
    *(".bash_history", ".zsh_history", ".python_history"),
)
_SYSTEM = (
    *(
        "/run/user",
        "/run/docker.sock",
        "/run/podman",
        "/run/containerd",
        "/run/dbus",
        "/run/secrets",
        "/run/snapd.socket",
    ),
    *("/var/run/docker.sock", "/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/ssl/private"),
)
_DROPPED = frozenset({"SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "GPG_AGENT_INFO",
                      "GNOME_KEYRING_CONTROL", "DOCKER_HOST"})  # fmt: skip
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "target", "dist", "build"})

MAX_LOOKED_AT = 3_000
"""Entries of the workspace that are looked at for secret files, nearest to the top first."""


def hidden_places(environment: Mapping[str, str], visible: Sequence[str]) -> list[str]:
    """Existing secret places outside of the workspace, links resolved, without those that `visible` opens."""
    home = Path(environment.get("HOME") or Path.home())
    places = [home / name for name in _IN_HOME] + [Path(name) for name in _SYSTEM]
    places += [config_dir(environment), state_dir(environment)]
    if runtime := environment.get("XDG_RUNTIME_DIR"):
        places.append(Path(runtime))
    opened = {os.path.realpath(Path(home, path).expanduser()) for path in visible}
    found = {os.path.realpath(place) for place in places if place.exists()}
    return sorted(place for place in found if place not in opened and place != "/")


def secret_files(roots: Sequence[str], secrets: SecretRules) -> list[str]:
    """Files in the workspace that tools may not read either. Only the first entries are looked at, level by level."""
    found: list[str] = []
    for root in roots:
        waiting, looked = [""], 0
        while waiting and looked < MAX_LOOKED_AT:
            folder = waiting.pop(0)
            try:
                entries = sorted(os.scandir(os.path.join(root, folder)), key=lambda entry: entry.name)  # noqa: PTH118
            except OSError:
                continue
            for entry in entries:
                looked += 1
                relative = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_symlink():
                    continue
                if secrets.match(relative) or closed(root, relative):
                    found.append(entry.path)
                elif entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED:
                    waiting.append(relative)
    return found


def guarded_files(roots: Sequence[str]) -> list[str]:
    """Existing files in the workspace that would start programs later, outside of any sandbox: git's and ours."""
    names = (".git/hooks", ".git/config", ".loopline")
    return [path for root in roots for name in names if os.path.exists(path := f"{root}/{name}")]  # noqa: PTH110


def reduced(environment: Mapping[str, str], temporary: str) -> dict[str, str]:
    """The environment of a command in a sandbox: no way to agents and buses, and room of its own for scratch files."""
    kept = {name: value for name, value in environment.items() if name not in _DROPPED}
    cache = {"XDG_CACHE_HOME": f"{temporary}/.cache", "npm_config_cache": f"{temporary}/.npm"}
    return {**kept, **cache, "TMPDIR": temporary, "TMP": temporary, "TEMP": temporary}
