"""What commands in a sandbox may not see: places where keys, passwords and sessions lie, by their customary names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_core.config.paths import config_dir, state_dir

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


def reduced(environment: Mapping[str, str], temporary: str) -> dict[str, str]:
    """The environment of a command in a sandbox: no way to agents and buses, and room of its own for scratch files."""
    kept = {name: value for name, value in environment.items() if name not in _DROPPED}
    cache = {"XDG_CACHE_HOME": f"{temporary}/.cache", "npm_config_cache": f"{temporary}/.npm"}
    return {**kept, **cache, "TMPDIR": temporary, "TMP": temporary, "TEMP": temporary}
