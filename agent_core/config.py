"""Typed settings and where each came from: defaults < user file < workspace file < environment < flags.

A workspace may only say what can't hurt its user: `model`, `project`, deny rules and a stricter `approve`; anything
else in its file is ignored and listed in `Loaded.ignored`. `SETTINGS` is the one table of all keys, and documents them.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import platformdirs

from agent_core import values
from agent_core.errors import ConfigError, FileRefused, UsageError
from agent_core.serve_options import SERVED, LogFormat, LogLevel
from agent_core.untrusted_files import read_toml
from agent_core.variables import variables

log = logging.getLogger(__name__)

Approve = Literal["auto", "ask", "never"]
TransportPolicy = Literal["auto", "websocket", "http"]
CompactBy = Literal["auto", "service", "local"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
ReasoningSummary = Literal["auto", "off"]
SandboxChoice = Literal["auto", "off"]

EFFORTS: tuple[Effort, ...] = get_args(Effort)
"""How hard a model thinks, weakest first."""

TARGETS = ("ttft_ms", "tpot_ms", "overhead_ms", "turn_ms")
"""What a target can be set for: time to first token, time per output token, overhead of a call, a whole turn."""

_STRICTNESS: Mapping[str, int] = {"auto": 0, "ask": 1, "never": 2}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Effective settings. Fields carry their defaults; `SETTINGS` documents each key."""

    base_url: str | None = None
    provider: str | None = None
    providers: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    model: str | None = None
    effort: Effort | None = None
    reasoning_summary: ReasoningSummary = "auto"
    models: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    approve: Approve = "ask"
    approve_read: Approve = "auto"
    approve_edit: Approve = "auto"
    approve_command: Approve = "ask"
    approval_timeout_s: float = 0.0
    transport: TransportPolicy = "auto"
    websocket_share: float = 1.0
    project: str | None = None
    python: str | None = None
    trusted: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    sandbox: SandboxChoice = "auto"
    sandbox_network: bool = False
    sandbox_visible: tuple[str, ...] = ()
    checkpoint_mb: int = 256
    hub_url: str | None = None
    telemetry_content: bool = False
    targets: Mapping[str, float] = msgspec.field(default_factory=dict)
    max_calls: int = 200
    max_minutes: float = 60.0
    max_tokens: int = 0
    max_cost: float = 0.0
    max_repeats: int = 4
    compact_at: int = 160_000
    compact_by: CompactBy = "auto"
    prices: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    engines: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    mcp: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    editor_code_lens: bool = False
    editor_ai_comments: bool = False
    editor_inline_completion: bool = False
    serve_keys: str | None = None
    serve_connections: int = 0
    serve_requests_per_minute: int = 0
    serve_tokens_per_minute: int = 0
    serve_log_level: LogLevel = "warning"
    serve_log_format: LogFormat = "json"


class Origin(msgspec.Struct, frozen=True):
    """Where a value came from: `layer` is default, user, workspace, env or flag; `where` the file, variable or flag."""

    layer: str
    where: str


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One key of the settings. `expected` is the sentence of the error; `env` None: no variable sets it."""

    key: str
    field: str
    expected: str
    doc: str
    parse: Callable[[Any], Any]
    """Turns a TOML value or a variable's text into the field's type; raises ValueError where it can't."""
    env: str | None = None
    workspace: bool = False
    adds: bool = False
    """A list that a workspace can make longer, and not shorter."""
    flag: str | None = None
    """The option that sets it; None: `--` and the key."""


def _url(value: Any) -> str:
    text = values.text(value)
    if not text.startswith(("http://", "https://", "ws://", "wss://")):
        raise ValueError
    return text.rstrip("/")


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise ValueError
    return tuple(values.text(entry) for entry in value)


def _number(low: float, high: float) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        if isinstance(value, bool):
            raise ValueError
        number = float(value)
        if not low <= number <= high:
            raise ValueError
        return number

    return parse


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _targets(value: Any) -> Mapping[str, float]:
    if not isinstance(value, dict) or not set(value) <= set(TARGETS):
        raise ValueError
    return {key: _number(0, 1e9)(entry) for key, entry in value.items()}


def _tables(value: Any) -> Mapping[str, Mapping[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(entry, dict) for entry in value.values()):
        raise ValueError
    return value


SETTINGS: tuple[Setting, ...] = (
    Setting(key="base_url", field="base_url", env="LOOPLINE_BASE_URL", parse=_url,
            expected="a URL that starts with http:// or https://",
            doc="Responses service to talk to, ending in /v1. Unset and no OPENAI_API_KEY: the embedded service."),
    Setting(key="provider", field="provider", env="LOOPLINE_PROVIDER", parse=values.text,
            expected="a provider's name", doc="Provider by name, as `loopline models` lists them; else base_url."),
    Setting(key="providers", field="providers", parse=_tables, expected="tables, one per provider",
            doc="Providers of your own, or over ready-made ones: base_url, key_env, wire, model."),
    Setting(key="model", field="model", env="LOOPLINE_MODEL", parse=values.text, workspace=True,
            expected="a model name", doc="Model of every call. Unset: `repair` on the embedded service."),
    Setting(key="effort", field="effort", env="LOOPLINE_EFFORT", parse=values.choice(EFFORTS), workspace=True,
            expected=" or ".join((", ".join(EFFORTS[:-1]), EFFORTS[-1])),
            doc="How hard the model thinks. Unset: as it likes. A model that takes no such level is sent none."),
    Setting(key="reasoning_summary", field="reasoning_summary", parse=values.choice(get_args(ReasoningSummary)),
            expected="auto or off", doc="auto: a summary of its reasoning is asked for where the model gives one."),
    Setting(key="models", field="models", parse=_tables, expected="tables, one per model",
            doc="What a model can do, over what is known: context_tokens, images, efforts, edit_tool, effort, …"),
    Setting(key="approve", field="approve", env="LOOPLINE_APPROVE", parse=values.choice(get_args(Approve)),
            workspace=True, expected="auto, ask or never",
            doc="ask: commands ask first. auto: nothing asks. never: what would ask is denied."),
    *(Setting(key=f"approvals.{kind}", field=f"approve_{kind}", parse=values.choice(get_args(Approve)), workspace=True,
              expected="auto, ask or never",
              doc=f"Tools that {does}. auto: free. ask: as `approve` says. never: denied.")
      for kind, does in (("read", "read files"), ("edit", "edit files"), ("command", "run commands"))),
    Setting(key="approval_timeout_s", field="approval_timeout_s", parse=_number(0, 1e9),
            expected="seconds, 0 or more", doc="An approval that nobody answers for so long is denied. 0: it waits."),
    Setting(key="transport", field="transport", parse=values.choice(get_args(TransportPolicy)),
            expected="auto, websocket or http", doc="auto: WebSocket, and HTTP while WebSocket can't be had."),
    Setting(key="websocket_share", field="websocket_share", parse=_number(0, 1),
            expected="a number from 0 to 1", doc="Share of sessions that use the WebSocket, drawn per session."),
    Setting(key="project", field="project", parse=values.text, workspace=True,
            expected="a short label", doc="Label of this project in telemetry; never a path."),
    Setting(key="python", field="python", env="LOOPLINE_PYTHON", parse=values.text,
            expected="a path or name of a Python interpreter", doc="Interpreter that runs the project's tests."),
    Setting(key="trusted", field="trusted", parse=_texts,
            expected="a list of folders", doc="Folders that may configure or start things by themselves."),
    Setting(key="allow", field="allow", parse=_texts,
            expected="a list of command patterns", doc="Commands that go ahead where they would ask."),
    Setting(key="environment", field="environment", parse=_texts,
            expected="a list of names of variables, with *",
            doc="Variables of yours that commands get beside those that tools for code read (PATH, GOPATH, …)."),
    Setting(key="sandbox", field="sandbox", env="LOOPLINE_SANDBOX", parse=values.choice(get_args(SandboxChoice)),
            expected="auto or off", doc="auto: commands run in a sandbox where the system has one."),
    Setting(key="sandbox_network", field="sandbox_network", parse=_switch,
            expected="true or false", doc="Commands in the sandbox may use the network."),
    Setting(key="sandbox_visible", field="sandbox_visible", parse=_texts,
            expected="a list of paths", doc="Secret files or folders that commands in the sandbox may read."),
    Setting(key="checkpoints.mb", field="checkpoint_mb", parse=values.count,
            expected="a whole number, 0 or more", doc="Megabytes kept on disk for undoing turns. 0: no undo."),
    Setting(key="deny", field="deny", parse=_texts, workspace=True, adds=True,
            expected="a list of command patterns", doc="Commands that are always denied; each layer adds."),
    Setting(key="guarded", field="guarded", parse=_texts, workspace=True, adds=True,
            expected="a list of names or paths, with * and ?",
            doc="Files that run by themselves, beside .git, .envrc, .vscode, …: closed to commands, edits ask."),
    Setting(key="hub.url", field="hub_url", env="LOOPLINE_HUB_URL", parse=_url,
            expected="a URL that starts with http:// or https://", doc="Team hub that telemetry is pushed to."),
    Setting(key="telemetry.content", field="telemetry_content", parse=_switch,
            expected="true or false", doc="Keep prompts, answers and tool output in telemetry files of their own."),
    Setting(key="targets", field="targets", parse=_targets,
            expected=f"numbers of milliseconds, 0 or more, for some of {', '.join(TARGETS)}",
            doc="What a good turn is: goodput counts the turns whose calls all met them."),
    Setting(key="limits.calls", field="max_calls", parse=values.count,
            expected="a whole number, 0 or more", doc="Calls of one turn. 0: no limit."),
    Setting(key="limits.minutes", field="max_minutes", parse=_number(0, 10_000),
            expected="a number of minutes, 0 or more", doc="Wall time of one turn. 0: no limit."),
    Setting(key="limits.tokens", field="max_tokens", parse=values.count,
            expected="a whole number, 0 or more", doc="Input plus output tokens of one turn. 0: no limit."),
    Setting(key="limits.cost", field="max_cost", parse=_number(0, 1_000_000),
            expected="a number of US dollars, 0 or more", doc="Cost of one turn by list price. 0: no limit."),
    Setting(key="limits.repeats", field="max_repeats", parse=values.count,
            expected="a whole number, 0 or more", doc="The same failing tool call in a row. 0: no limit."),
    Setting(key="context.compact_at", field="compact_at", parse=values.count,
            expected="a whole number, 0 or more",
            doc="Tokens from which the conversation is compacted. 0: only where the service refuses it as too long."),
    Setting(key="context.compact_by", field="compact_by", parse=values.choice(get_args(CompactBy)),
            expected="auto, service or local",
            doc="service: it is asked to compact inside its replies. local: by a summary of the model's."),
    Setting(key="prices", field="prices", parse=_tables,
            expected="tables, one per model", doc="Own prices, dollars per million tokens: input, output, cached."),
    Setting(key="engines", field="engines", parse=_tables,
            expected="tables, one per engine", doc="Settings of the service's engines, by name."),
    Setting(key="mcp", field="mcp", parse=_tables,
            expected="tables, one per server",
            doc="MCP servers by name: `command` or `url`, and how their calls are approved. Needs the extra `mcp`."),
    *(Setting(key=f"editor.{name}", field=f"editor_{name}", parse=_switch, expected="true or false", doc=doc)
      for name, doc in (("code_lens", "Editors: lenses over what a turn changed."),
                        ("ai_comments", "Editors: a comment that ends in `AI!` starts a turn, in trusted folders."),
                        ("inline_completion", "Editors: completions while typing, of the model."))),
    *(Setting(key=option.key, field=option.field, flag=option.flag, parse=option.parse, expected=option.expected,
              doc=f"`serve`: {option.doc}") for option in SERVED if option.key is not None),
)  # fmt: skip

_LAYERS = ("default", "user", "workspace", "env", "flag")
_BY_KEY = {setting.key: setting for setting in SETTINGS}
_BY_FIELD = {setting.field: setting for setting in SETTINGS}


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Settings with the origin of each field, what the workspace's file set, and what it tried to set but may not
    (`key`, file)."""

    settings: Settings
    origins: Mapping[str, Origin]
    ignored: tuple[tuple[str, str], ...] = ()
    workspace: Mapping[str, Any] = msgspec.field(default_factory=dict)


def config_dir(env: Mapping[str, str]) -> Path:
    """Folder of the user's own configuration (`$XDG_CONFIG_HOME/loopline`, platformdirs elsewhere)."""
    base = env.get("XDG_CONFIG_HOME")
    return Path(base) / "loopline" if base else Path(platformdirs.user_config_dir("loopline"))


def managed_file(env: Mapping[str, str]) -> Path:
    """What commands keep for the user (`trust`, `hub join`); the user's own `config.toml` wins, trust is the union."""
    return config_dir(env) / "managed.toml"


def settings_files(env: Mapping[str, str], workspace: Path | None) -> tuple[Path, ...]:
    """The files that `load` reads, whether or not they exist."""
    files = (managed_file(env), config_dir(env) / "config.toml")
    return files if workspace is None else (*files, workspace / ".loopline" / "config.toml")


def keep_setting(env: Mapping[str, str], key: str, value: str | tuple[str, ...] | None) -> None:
    """Write one key of `managed_file`; None forgets it. Raises ConfigError if the file can't be written."""
    kept = {**dict(_read(managed_file(env))), key: value}
    lines = [f"{name} = {_toml(entry)}\n" for name, entry in kept.items() if entry is not None]
    path = managed_file(env)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with temporary.open("w", encoding="utf-8") as file:
            file.write("# Kept by `loopline trust` and `loopline hub`.\n" + "".join(lines))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(str(path), "", "a file that can be written", got=error.strerror or "an error") from None


def _toml(value: Any) -> str:
    """A string or a list of strings as TOML; JSON's strings are TOML's basic strings but for DEL."""
    return msgspec.json.encode(value).decode("utf-8").replace("\x7f", "\\u007f")


def state_dir(env: Mapping[str, str]) -> Path:
    """Folder of sessions and telemetry (`$XDG_STATE_HOME/loopline`, platformdirs elsewhere)."""
    base = env.get("XDG_STATE_HOME")
    return Path(base) / "loopline" if base else Path(platformdirs.user_state_dir("loopline"))


def runtime_dir(env: Mapping[str, str]) -> Path:
    """Folder of sockets (`$XDG_RUNTIME_DIR/loopline`, else a private folder beside the state)."""
    base = env.get("XDG_RUNTIME_DIR")
    return Path(base) / "loopline" if base else state_dir(env) / "run"


def load(
    *,
    workspace: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> Loaded:
    """Read all layers. `flags` maps field names to values; None values are not set. Raises ConfigError, and UsageError
    for two flags that contradict each other."""
    env = variables() if env is None else env
    values: dict[str, Any] = {}
    origins = {setting.field: Origin("default", "") for setting in SETTINGS}
    ignored: list[tuple[str, str]] = []
    said: dict[str, Any] = {}

    def apply(setting: Setting, value: Any, layer: str, where: str) -> Any:
        try:
            parsed = setting.parse(value)
        except (ValueError, TypeError, OverflowError):
            key = "" if layer == "flag" else setting.key
            raise ConfigError(where, key, setting.expected, got=_shown(value)) from None
        before = values.get(setting.field, ())
        values[setting.field] = parsed
        if setting.adds:  # no layer takes away what one below says
            values[setting.field] = tuple(dict.fromkeys((*before, *parsed)))
        origins[setting.field] = Origin(layer, where)
        return parsed

    for key, value in _read(managed_file(env)):
        apply(_known(key, managed_file(env)), value, "user", str(managed_file(env)))
    kept_trust = values.get("trusted", ())
    user_file = config_dir(env) / "config.toml"
    for key, value in _read(user_file):
        apply(_known(key, user_file), value, "user", str(user_file))

    if kept_trust:
        values["trusted"] = tuple(dict.fromkeys((*kept_trust, *values["trusted"])))
    if workspace is not None:
        workspace_file = workspace / ".loopline" / "config.toml"
        for key, value in _read(workspace_file, workspace):
            setting = _known(key, workspace_file)
            if setting.workspace and not _loosens(setting, value, values):
                said[setting.field] = apply(setting, value, "workspace", str(workspace_file))
            else:
                ignored.append((key, str(workspace_file)))

    for setting in SETTINGS:
        if setting.env and (text := env.get(setting.env, "").strip()):
            apply(setting, text, "env", setting.env)
    for field, value in (flags or {}).items():
        if value is not None:
            setting = _BY_FIELD[field]
            apply(setting, value, "flag", setting.flag or "--" + setting.key.replace("_", "-").replace(".", "-"))
    if origins["base_url"].layer == origins["provider"].layer == "flag":
        raise UsageError("--provider and --base-url name two services; give one of them")
    if _LAYERS.index(origins["base_url"].layer) > _LAYERS.index(origins["provider"].layer):
        values.pop("provider", None)  # an address that is said closer to the user names another service
    return Loaded(settings=Settings(**values), origins=origins, ignored=tuple(ignored), workspace=said)


def _read(path: Path, root: Path | None = None) -> list[tuple[str, Any]]:
    """Dotted keys of one TOML file in file order; nothing where there is no file. `root`: the workspace that it is of,
    None: it is the user's own."""
    try:
        table = read_toml(path, root)
        if table == {} and root is None and not path.stat().st_size:
            log.warning("%s is blank: if settings were in it, they are lost; remove the file if not", path)
        return [] if table is None else list(_dotted(table, ""))
    except FileRefused as refused:
        expected = "valid TOML in UTF-8" if refused.code == "malformed" else "a readable file of a few kilobytes"
        raise ConfigError(str(path), "", expected, got=refused.reason) from None
    except RecursionError:
        raise ConfigError(str(path), "", "tables a few levels deep") from None


def _dotted(table: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in _BY_KEY:
            pairs += _dotted(value, f"{key}.")
        else:
            pairs.append((key, value))
    return pairs


def _known(key: str, path: Path) -> Setting:
    setting = _BY_KEY.get(key)
    if setting is None:
        raise ConfigError(str(path), key, "one of " + ", ".join(sorted(_BY_KEY)), got="an unknown key")
    return setting


def _loosens(setting: Setting, value: Any, values: Mapping[str, Any]) -> bool:
    """Whether a workspace's `approve` or `approvals.*` would ask less than the user's own."""
    if not setting.field.startswith("approve"):
        return False
    present = values.get(setting.field, getattr(Settings(), setting.field))
    return _STRICTNESS.get(str(value), 99) < _STRICTNESS[present]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
