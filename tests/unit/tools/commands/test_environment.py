from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

import pytest

from agent_core.errors import ToolError
from agent_core.tools.commands.environment import command_environment, find_interpreter
from agent_core.tools.workspace.secret_names import SecretRules


def make_python(folder: Path, name: str = "python") -> Path:
    """Something that can be run, at `folder/bin/name`."""
    program = folder / "bin" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    root = tmp_path / "project"
    return {
        "setting": make_python(tmp_path / "chosen"),
        "VIRTUAL_ENV": make_python(tmp_path / "active"),
        ".venv": make_python(root / ".venv"),
        "venv": make_python(root / "venv"),
        "PATH": make_python(tmp_path / "system", "python3"),
    }


def test_the_order_of_interpreters(tmp_path: Path, places: dict[str, Path]) -> None:
    root = tmp_path / "project"
    environment = {"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": str(tmp_path / "system" / "bin")}
    setting: str | None = str(places["setting"])
    for rule in ("setting", "VIRTUAL_ENV", ".venv", "venv", "PATH"):
        found = find_interpreter(root, setting=setting, environment=environment, use_venv=True)
        assert (found.rule, found.path) == (rule, str(places[rule]))
        setting = None
        if rule == "VIRTUAL_ENV":
            del environment["VIRTUAL_ENV"]
        places[rule].unlink()
    with pytest.raises(ToolError) as caught:
        find_interpreter(root, setting=None, environment=environment, use_venv=True)
    assert caught.value.code == "no_interpreter"


def test_a_folders_own_environment_needs_trust(tmp_path: Path, places: dict[str, Path]) -> None:
    environment = {"PATH": str(tmp_path / "system" / "bin")}
    found = find_interpreter(tmp_path / "project", setting=None, environment=environment, use_venv=False)
    assert (found.rule, found.path) == ("PATH", str(places["PATH"]))


def test_a_setting_is_relative_to_the_root_or_a_name_on_the_path(tmp_path: Path, places: dict[str, Path]) -> None:
    root = tmp_path / "project"
    found = find_interpreter(root, setting=".venv/bin/python", environment={}, use_venv=False)
    assert found.path == str(places[".venv"])
    with pytest.raises(ToolError, match="the setting python names nowhere/python"):
        find_interpreter(root, setting="nowhere/python", environment={}, use_venv=True)


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="the tests do not run in a virtual environment")
def test_looplines_own_environment_is_never_taken_but_by_the_setting(tmp_path: Path, places: dict[str, Path]) -> None:
    own = Path(sys.prefix)
    root = tmp_path / "other"
    root.mkdir()
    (root / ".venv").symlink_to(own)
    environment = {
        "VIRTUAL_ENV": str(own),
        "PATH": os.pathsep.join([str(own / "bin"), str(tmp_path / "system" / "bin")]),
    }
    found = find_interpreter(root, setting=None, environment=environment, use_venv=True)
    assert (found.rule, found.path) == ("PATH", str(places["PATH"]))
    found = find_interpreter(root, setting=sys.executable, environment=environment, use_venv=True)
    assert found.rule == "setting"


def test_relative_path_entries_are_not_searched(tmp_path: Path) -> None:
    make_python(tmp_path, "python3")
    with pytest.raises(ToolError):
        find_interpreter(tmp_path, setting=None, environment={"PATH": "bin:."}, use_venv=False)


def test_a_real_environment_works(tmp_path: Path) -> None:
    venv.create(tmp_path / ".venv", with_pip=False)
    found = find_interpreter(tmp_path, setting=None, environment={}, use_venv=True)
    assert found.path == str(tmp_path / ".venv" / "bin" / "python")


PASS = {
    "PATH": "/usr/bin", "HOME": "/h", "LC_ALL": "C", "VIRTUAL_ENV": "/v", "PYTHONPATH": "src", "GOPATH": "/go",
    "CARGO_HOME": "/c", "JAVA_HOME": "/j", "NODE_ENV": "test", "npm_config_cache": "/n", "XDG_DATA_HOME": "/d",
    "https_proxy": "http://proxy:3128", "GIT_AUTHOR_NAME": "me", "CFLAGS": "-O2", "DOTNET_ROOT": "/net",
}  # fmt: skip
STAY_OUT = {
    "OPENAI_API_KEY": "1", "NPM_TOKEN": "2", "LOOPLINE_UPSTREAM_KEY": "3", "LOOPLINE_API_KEYS": "a=4",
    "PGPASSWORD": "5", "CARGO_REGISTRY_TOKEN": "6", "CARGO_REGISTRIES_X_TOKEN": "7", "NODE_AUTH_TOKEN": "8",
    "UV_INDEX_X_PASSWORD": "9",
    "npm_config_//registry.npmjs.org/:_authToken": "10", "BUNDLE_GITHUB__COM": "me:11", "DENO_AUTH_TOKENS": "12@x",
    "YARN_NPM_AUTH_IDENT": "me:13", "HTTPS_PROXY": "http://me:14@proxy:3128", "PIP_INDEX_URL": "https://me:15@pypi.local",
    "GOOGLE_APPLICATION_CREDENTIALS": "/16", "AWS_PROFILE": "17", "DATABASE_URL": "postgres://me@db/18", "MYAPP": "19",
    "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.extraHeader", "GIT_CONFIG_VALUE_0": "Authorization: 20",
    "GIT_SSH_COMMAND": "ssh -i 21", "NIX_CONFIG": "access-tokens = 22", "DISPLAY": ":0", "COMPOSER_AUTH": "{}",
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=23", "HF_TOKEN": "24", "GITHUB_TOKEN": "25",
}  # fmt: skip


def test_what_commands_get_is_a_list() -> None:
    """Whatever the user's environment has beside, under any name, stays out."""
    found = command_environment({**PASS, **STAY_OUT}, trusted=True)
    assert {name: found.get(name) for name in PASS} == PASS
    assert not STAY_OUT.keys() & found.keys()
    assert found["PYTHONDONTWRITEBYTECODE"] == "1"


def test_the_user_names_more_of_it() -> None:
    found = command_environment({**PASS, **STAY_OUT}, trusted=True, named=("DATABASE_URL", "MY*", "NPM_TOKEN"))
    assert STAY_OUT.keys() & found.keys() == {"DATABASE_URL", "MYAPP", "NPM_TOKEN"}


def test_git_settings_of_the_user_stay_beside_ours() -> None:
    base = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
    assert "GIT_CONFIG_COUNT" not in command_environment(base, trusted=True)
    found = command_environment(base, trusted=False, named=("GIT_CONFIG_*",))
    assert (found["GIT_CONFIG_COUNT"], found["GIT_CONFIG_KEY_0"], found["GIT_CONFIG_KEY_1"]) == (
        "3",
        "a.b",
        "core.fsmonitor",
    )


@pytest.mark.parametrize(
    ("path", "secret"),
    [
        (".env", True), ("sub/.env.production", True), (".env.example", False), (".env.sample", False),
        ("id_rsa", True), ("id_rsa.pub", False), ("keys/server.key", True), (".ssh/known_hosts", True),
        (".npmrc", True),
        ("environment.py", False), ("env.py", False), ("docs/keys.md", False), ("token.py", False),
        ("a/.aws/config", True),
        ("credentials.json", True), ("credentials.py", False), ("x.PEM", True),
    ],
)  # fmt: skip
def test_secret_names(path: str, secret: bool) -> None:
    assert SecretRules().match(path) == secret


def test_the_user_may_open_secret_files_by_name() -> None:
    rules = SecretRules(allowed=("tests/*.pem", ".env"))
    assert not rules.match("tests/ca.pem")
    assert rules.match("ca.pem")
    assert not rules.match("deep/.env")
