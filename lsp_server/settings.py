"""Settings as an editor gives them, and which of them count.

An editor merges its user's settings with the folder's before it hands them over, and does not say which is which. So a
key that a settings file inside the workspace names as well may be the folder's word, and then only counts where a
folder's word does: `model`, `project`, a stricter `approve`, and more `deny` rules than the user's.
`initializationOptions` come from the user's own configuration of the editor.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent_core.config import Approve, Settings, load
from agent_core.errors import ConfigError

MAX_FILE_BYTES = 1 << 20
_FOLDER_FILES = (
    ".vscode/settings.json", ".idea/loopline.xml", ".zed/settings.json", ".vim/coc-settings.json", ".nvim.lua", ".exrc",
    ".nvimrc", ".neoconf.json", ".lazy.lua", ".helix/languages.toml", ".dir-locals.el", ".theia/settings.json",
    ".fleet/settings.json", ".kakrc.local",
)  # fmt: skip
_FOLDER_PATTERNS = ("*.code-workspace", "*.sublime-project", ".nlsp-settings/*")
_OWN_FILE = ".loopline/config.toml"
WATCHED = tuple(f"**/{name}" for name in (*_FOLDER_FILES, *_FOLDER_PATTERNS, _OWN_FILE))
"""Patterns of the files that say something about settings."""
_STRICTNESS: Mapping[str, int] = {"auto": 0, "ask": 1, "never": 2}

_FIELDS: Mapping[str, str] = {
    "baseUrl": "base_url", "model": "model", "approve": "approve", "trusted": "trusted", "transport": "transport",
    "project": "project", "python": "python", "deny": "deny", "approvalTimeoutS": "approval_timeout_s",
}  # fmt: skip
_SWITCHES = ("codeLens", "aiComments", "inlineCompletion")
_FOLDER_MAY_SAY = frozenset({"model", "project", "codeLens"})


class EditorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`flags` are the core's settings by field name. `trust_all`: every folder of this editor. `problems` are for the
    user: what was given and does not count, or is wrong."""

    flags: Mapping[str, Any] = msgspec.field(default_factory=dict)
    trusted: tuple[str, ...] = ()
    trust_all: bool = False
    code_lens: bool = False
    ai_comments: bool = False
    inline_completion: bool = False
    problems: tuple[str, ...] = ()


def resolve(options: Any, pulled: Any, claimed: frozenset[str], env: Mapping[str, str]) -> EditorSettings:
    """`options` are the initializationOptions, `pulled` the section `loopline` (None: there is none), `claimed` the
    keys that files of the workspace name."""
    user, given = _section(options), _section(pulled)
    problems: list[str] = []
    values = dict(user)
    for key, value in given.items():
        if value is None:
            continue
        if key in claimed and key not in _FOLDER_MAY_SAY and value != user.get(key):
            stricter = key == "approve" and _stricter(value, _approve(user, env))
            if stricter or (key == "deny" and _adds_to(value, user.get(key))):
                values[key] = value
            else:
                problems.append(f"`loopline.{key}` is ignored: a settings file in the workspace names it")
            continue
        values[key] = value
    trusted = values.pop("trusted", None)
    flags = {_FIELDS[key]: value for key, value in values.items() if key in _FIELDS}
    flags = _valid(flags, problems)
    problems += [f"`loopline.{key}` is not a setting" for key in values if key not in _FIELDS and key not in _SWITCHES]
    return EditorSettings(
        flags=flags,
        trusted=tuple(path for path in trusted if isinstance(path, str)) if isinstance(trusted, list) else (),
        trust_all=trusted is True,
        code_lens=values.get("codeLens") is True,
        ai_comments=values.get("aiComments") is True,
        inline_completion=values.get("inlineCompletion") is True,
        problems=tuple(problems),
    )


def claimed_by_folders(roots: Iterable[Path]) -> frozenset[str]:
    """Keys of ours that settings files in the workspace name. Their text is searched, whatever their format."""
    found: set[str] = set()
    for root in roots:
        paths = [root / name for name in _FOLDER_FILES]
        paths += [path for pattern in _FOLDER_PATTERNS for path in sorted(root.glob(pattern))[:20]]
        for path in paths:
            text = _text(path)
            if "loopline" in text:
                found.update(key for key in (*_FIELDS, *_SWITCHES) if key in text)
    return frozenset(found)


def is_settings_file(path: str, roots: Iterable[Path]) -> bool:
    """Whether a file of the workspace says something about settings, by its path."""
    for root in roots:
        if path.startswith(f"{root}/"):
            relative = path[len(str(root)) + 1 :]
            patterns = (*_FOLDER_PATTERNS, _OWN_FILE)
            return relative in _FOLDER_FILES or any(fnmatch.fnmatchcase(relative, one) for one in patterns)
    return False


def stricter_approve(editor: Any, folder: Approve) -> Approve | None:
    """Which of the two holds: the folder's where it asks more. None: the editor's own."""
    return folder if isinstance(editor, str) and _stricter(folder, editor) else None


def _section(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        return {}
    inner = given.get("loopline")
    return inner if isinstance(inner, Mapping) else given


def _approve(user: Mapping[str, Any], env: Mapping[str, str]) -> str:
    try:
        own = load(env=env).settings.approve
    except ConfigError:
        own = Settings().approve
    return str(user.get("approve") or own)


def _stricter(one: Any, other: Any) -> bool:
    return _STRICTNESS.get(str(one), -1) > _STRICTNESS.get(str(other), 99)


def _adds_to(given: Any, own: Any) -> bool:
    """Whether a list of deny rules holds all of the user's, which must be known: a list may also have replaced them."""
    return isinstance(given, list) and isinstance(own, list) and all(rule in given for rule in own)


def _valid(flags: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    """Without what can't be used, each told."""
    good: dict[str, Any] = {}
    for field, value in flags.items():
        if value is None:
            continue
        try:
            load(flags={field: value}, env={"XDG_CONFIG_HOME": "/nonexistent"})
            good[field] = value
        except ConfigError as error:
            key = next(name for name, known in _FIELDS.items() if known == field)
            problems.append(f"`loopline.{key}` is ignored: expected {error.expected}")
    return good


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
