"""Settings as an editor gives them, and which of them count.

Editors merge their user's settings with the folder's, `initializationOptions` included, before they hand them over, and
most do not say which is which. So all of it counts only from a client that says by capability (`userSettings`) that it
hands over its user's own word, with a folder's left out. Of any other client what a folder may say counts: `model`,
`project`, `codeLens`, a stricter `approve` and further `deny` rules; its user sets the rest in Loopline's own
configuration. What files of the folder contain is never asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent_core.config.load import load
from agent_core.config.paths import config_dir
from agent_core.config.settings import SETTINGS, STRICTNESS, Approve, Settings
from agent_core.errors import ConfigError

_OWN_FILE = ".loopline/config.toml"
WATCHED = (f"**/{_OWN_FILE}",)
"""Patterns of the files of a workspace that hold settings of ours."""

_SAID = tuple(setting for setting in SETTINGS if setting.row.editor)
_SWITCHES: Mapping[str, str] = {each.editor_key: each.key for each in _SAID if each.key.startswith("editor.")}
_FIELDS: Mapping[str, str] = {each.editor_key: each.field for each in _SAID if each.editor_key not in _SWITCHES}
_FOLDER_MAY_SAY = frozenset({"model", "effort", "project", "codeLens"})


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


def resolve(options: Any, pulled: Any, env: Mapping[str, str], *, users_own: bool) -> EditorSettings:
    """`options` are the initializationOptions, `pulled` the section `loopline` (None: there is none). `users_own`: the
    client says that a folder's word is left out of both."""
    given = {**_section(options), **{key: value for key, value in _section(pulled).items() if value is not None}}
    own = _own(env)
    problems: list[str] = []
    values = dict(given) if users_own else _as_a_folder(given, own, env, problems)
    trusted = values.pop("trusted", None)
    flags = {_FIELDS[key]: value for key, value in values.items() if key in _FIELDS}
    flags = _valid(flags, problems)
    problems += [f"`loopline.{key}` is not a setting" for key in values if key not in _FIELDS and key not in _SWITCHES]
    return EditorSettings(
        flags=flags,
        trusted=tuple(path for path in trusted if isinstance(path, str)) if isinstance(trusted, list) else (),
        trust_all=trusted is True,
        code_lens=values.get("codeLens", own.editor_code_lens) is True,
        ai_comments=values.get("aiComments", own.editor_ai_comments) is True,
        inline_completion=values.get("inlineCompletion", own.editor_inline_completion) is True,
        problems=tuple(problems),
    )


def is_settings_file(path: str, roots: Iterable[Path]) -> bool:
    """Whether a file of the workspace holds settings of ours, by its path."""
    return any(path == f"{root}/{_OWN_FILE}" for root in roots)


def settings_folder(root: Path) -> str:
    """Where the settings of a workspace are."""
    return f"{root}/{_OWN_FILE}".rpartition("/")[0]


def stricter_approve(editor: Any, folder: Approve) -> Approve | None:
    """Which of the two holds: the folder's where it asks more. None: the editor's own."""
    return folder if isinstance(editor, str) and _stricter(folder, editor) else None


def _section(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        return {}
    inner = given.get("loopline")
    return inner if isinstance(inner, Mapping) else given


def _own(env: Mapping[str, str]) -> Settings:
    """What the user's own configuration says; the defaults while it can't be read, which is told elsewhere."""
    try:
        return load(env=env).settings
    except ConfigError:
        return Settings()


def _as_a_folder(
    given: Mapping[str, Any], own: Settings, env: Mapping[str, str], problems: list[str]
) -> dict[str, Any]:
    """What of it a folder may say, too."""
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key in _FOLDER_MAY_SAY or (key == "approve" and _stricter(value, own.approve)):
            values[key] = value
        elif key == "deny" and isinstance(value, list):
            values[key] = [*own.deny, *(rule for rule in value if rule not in own.deny)]
        elif key == "trusted":
            problems.append("`loopline.trusted` is ignored, as the folder may have said it: use `loopline trust DIR`")
        elif key in _FIELDS or key in _SWITCHES:
            if _says(own, key) != value:
                name = _FIELDS.get(key) or _SWITCHES[key]
                where = config_dir(env) / "config.toml"
                problems.append(f"`loopline.{key}` is ignored, as the folder may have said it: set `{name}` in {where}")
        else:
            values[key] = value  # told as no setting
    return values


def _says(own: Settings, key: str) -> Any:
    return getattr(own, _FIELDS.get(key) or _SWITCHES[key].replace(".", "_"))


def _stricter(one: Any, other: Any) -> bool:
    return STRICTNESS.get(str(one), -1) > STRICTNESS.get(str(other), 99)


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
