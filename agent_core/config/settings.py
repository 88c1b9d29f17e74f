"""Every setting, declared once: a field of `Settings` carries its key in a file, the variable and the option that set
it too, its words, and how it is read. Files, environment, command lines, editors and `loopline config` are made from
this table. It loads little, so that `--help` stays quick.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from agent_core.config import values
from agent_core.config.serve import SERVED, LogFormat, LogLevel

Approve = Literal["auto", "ask", "never"]
TransportPolicy = Literal["auto", "websocket", "http"]
CompactBy = Literal["auto", "service", "local"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
ReasoningSummary = Literal["auto", "off"]
SandboxChoice = Literal["auto", "off"]
Notify = Literal["auto", "bell", "off"]

EFFORTS: tuple[Effort, ...] = get_args(Effort)
"""How hard a model thinks, weakest first."""

TARGETS = ("ttft_ms", "tpot_ms", "overhead_ms", "turn_ms")
"""What a target can be set for: time to first token, time per output token, overhead of a call, a whole turn."""

STRICTNESS: Mapping[str, int] = {"auto": 0, "ask": 1, "never": 2}
"""Which `approve` asks more."""

T = TypeVar("T")
_ROW = "row"


class Option(NamedTuple):
    """How `run` and the conversation offer a setting."""

    help: str
    metavar: str
    flag: str | None = None
    """None: `--` and the key."""


class Row(NamedTuple):
    """What a field of `Settings` says of itself. `expected` is the sentence of the error; `env` None: no variable sets
    it; `option` None: only `--set` does."""

    key: str
    parse: Callable[[Any], Any]
    """Turns a TOML value or a variable's text into the field's type; raises ValueError where it can't."""
    expected: str
    doc: str
    env: str | None = None
    option: Option | None = None
    workspace: bool = False
    """A workspace's file may say it, too; of `approve` only what is stricter."""
    adds: bool = False
    """A list that a workspace can make longer, and not shorter."""
    editor: bool = False
    """An editor's settings may say it, too, under `editor_key`."""
    flag: str | None = None
    """What an error calls it where it has no option of `run`; None: by its option, or its key."""


class Setting(NamedTuple):
    """A field of `Settings` and its row."""

    field: str
    row: Row

    @property
    def key(self) -> str:
        """In a file."""
        return self.row.key

    @property
    def flag(self) -> str:
        """What an error calls it that was given on a command line."""
        option = self.row.option
        return self.row.flag or (option and option.flag) or "--" + self.key.replace("_", "-").replace(".", "-")

    @property
    def editor_key(self) -> str:
        """In an editor's section `loopline`."""
        first, *rest = self.key.removeprefix("editor.").split("_")
        return first + "".join(part.capitalize() for part in rest)


def _is(default: T, row: Row) -> T:
    """A field of `Settings`: its default, and its row."""
    made: Any = dataclasses.field(default=default, metadata={_ROW: row})
    return made  # type: ignore[no-any-return]


def _are(row: Row) -> Mapping[str, Any]:
    """A field that is a table, empty where nothing is said."""
    made: Any = dataclasses.field(default_factory=dict, metadata={_ROW: row})
    return made  # type: ignore[no-any-return]


def _tables(key: str, of: str, doc: str) -> Mapping[str, Mapping[str, Any]]:
    return _are(Row(key, values.tables, f"tables, one per {of}", doc))


def _approval(kind: str, does: str) -> Row:
    return Row(f"approvals.{kind}", values.choice(get_args(Approve)), "auto, ask or never",
               f"Tools that {does}. auto: free. ask: as `approve` says. never: denied.", workspace=True)  # fmt: skip


def _switch(key: str, doc: str, *, workspace: bool = False) -> Row:
    editor = key.startswith("editor.")
    return Row(key, values.switch, "true or false", doc, editor=editor, workspace=workspace)


def _served(flag: str) -> Row:
    option = next(option for option in SERVED if option.flag == flag)
    return Row(option.key or "", option.parse, option.expected, f"`serve`: {option.doc}", flag=option.flag)


_WHOLE = "a whole number, 0 or more"
_ANY_URL = "a URL that starts with http:// or https://"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Effective settings. `loopline config` shows them all, with what each means and where its value came from."""

    # fmt: off
    base_url: str | None = _is(None, Row(
        "base_url", values.url, _ANY_URL,
        "Responses service to talk to, ending in /v1. Unset and no OPENAI_API_KEY: the embedded service.",
        env="LOOPLINE_BASE_URL", editor=True,
        option=Option("Responses service, ending in /v1; its key is OPENAI_API_KEY.", "URL")))
    provider: str | None = _is(None, Row(
        "provider", values.text, "a provider's name",
        "Provider by name, as `loopline models` lists them; else base_url.",
        env="LOOPLINE_PROVIDER", editor=True,
        option=Option("Provider by name: openai, azure, openrouter, groq, cerebras, deepseek, mistral, ollama, "
                      "llama-server, vllm, lmstudio, litellm, or your own of [providers.NAME].", "NAME")))
    providers: Mapping[str, Mapping[str, Any]] = _tables(
        "providers", "provider", "Providers of your own, or over ready-made ones: base_url, key_env, wire, model.")
    model: str | None = _is(None, Row(
        "model", values.text, "a model name", "Model of every call. Unset: `repair` on the embedded service.",
        env="LOOPLINE_MODEL", workspace=True, editor=True, option=Option("Model of every call.", "NAME")))
    effort: Effort | None = _is(None, Row(
        "effort", values.choice(EFFORTS), " or ".join((", ".join(EFFORTS[:-1]), EFFORTS[-1])),
        "How hard the model thinks. Unset: as it likes. A model that takes no such level is sent none.",
        env="LOOPLINE_EFFORT", workspace=True, editor=True,
        option=Option("How hard the model thinks, where it takes that. [default: as the model likes]",
                      "|".join(EFFORTS))))
    reasoning_summary: ReasoningSummary = _is("auto", Row(
        "reasoning_summary", values.choice(get_args(ReasoningSummary)), "auto or off",
        "auto: a summary of its reasoning is asked for where the model gives one."))
    models: Mapping[str, Mapping[str, Any]] = _tables(
        "models", "model",
        "What a model can do, over what is known: context_tokens, images, efforts, edit_tool, effort, …")
    approve: Approve = _is("ask", Row(
        "approve", values.choice(get_args(Approve)), "auto, ask or never",
        "ask: commands ask first. auto: nothing asks. never: what would ask is denied.",
        env="LOOPLINE_APPROVE", workspace=True, editor=True,
        option=Option("ask: commands ask on the terminal. auto: nothing asks. deny: what would ask is denied. "
                      "[default: ask]", "auto|ask|deny")))
    approve_read: Approve = _is("auto", _approval("read", "read files"))
    approve_edit: Approve = _is("auto", _approval("edit", "edit files"))
    approve_command: Approve = _is("ask", _approval("command", "run commands"))
    approval_timeout_s: float = _is(0.0, Row(
        "approval_timeout_s", values.number(0, 1e9), "seconds, 0 or more",
        "An approval that nobody answers for so long is denied. 0: it waits.", editor=True))
    transport: TransportPolicy = _is("auto", Row(
        "transport", values.choice(get_args(TransportPolicy)), "auto, websocket or http",
        "auto: WebSocket, and HTTP while WebSocket can't be had.", editor=True,
        option=Option("How to reach the service. [default: auto]", "auto|websocket|http")))
    websocket_share: float = _is(1.0, Row(
        "websocket_share", values.number(0, 1), "a number from 0 to 1",
        "Share of sessions that use the WebSocket, drawn per session."))
    project: str | None = _is(None, Row(
        "project", values.text, "a short label", "Label of this project in telemetry; never a path.", workspace=True,
        editor=True))
    python: str | None = _is(None, Row(
        "python", values.text, "a path or name of a Python interpreter",
        "Interpreter that runs the project's tests.", env="LOOPLINE_PYTHON", editor=True,
        option=Option("Interpreter that runs the project's tests. [default: its own environment]", "PATH")))
    trusted: tuple[str, ...] = _is((), Row(
        "trusted", values.texts, "a list of folders", "Folders that may configure or start things by themselves.",
        editor=True))
    allow: tuple[str, ...] = _is((), Row(
        "allow", values.texts, "a list of command patterns", "Commands that go ahead where they would ask."))
    environment: tuple[str, ...] = _is((), Row(
        "environment", values.texts, "a list of names of variables, with *",
        "Variables of yours that commands get beside those that tools for code read (PATH, GOPATH, …)."))
    sandbox: SandboxChoice = _is("auto", Row(
        "sandbox", values.choice(get_args(SandboxChoice)), "auto or off",
        "auto: commands run in a sandbox where the system has one.", env="LOOPLINE_SANDBOX",
        option=Option("auto: commands run in a sandbox where the system has one. [default: auto]", "auto|off")))
    sandbox_network: bool = _is(False, _switch("sandbox_network", "Commands in the sandbox may use the network."))
    sandbox_visible: tuple[str, ...] = _is((), Row(
        "sandbox_visible", values.texts, "a list of paths",
        "Secret files or folders that commands in the sandbox may read."))
    checkpoint_mb: int = _is(256, Row(
        "checkpoints.mb", values.count, _WHOLE, "Megabytes kept on disk for undoing turns. 0: no undo."))
    deny: tuple[str, ...] = _is((), Row(
        "deny", values.texts, "a list of command patterns", "Commands that are always denied; each layer adds.",
        workspace=True, adds=True, editor=True))
    guarded: tuple[str, ...] = _is((), Row(
        "guarded", values.texts, "a list of names or paths, with * and ?",
        "Files that run by themselves, beside .git, .envrc, .vscode, …: closed to commands, edits ask.",
        workspace=True, adds=True))
    hub_url: str | None = _is(None, Row(
        "hub.url", values.url, _ANY_URL, "Team hub that telemetry is pushed to.", env="LOOPLINE_HUB_URL"))
    telemetry_content: bool = _is(False, _switch(
        "telemetry.content", "Keep prompts, answers and tool output in telemetry files of their own."))
    targets: Mapping[str, float] = _are(Row(
        "targets", values.numbers_of(TARGETS), f"numbers of milliseconds, 0 or more, for some of {', '.join(TARGETS)}",
        "What a good turn is: goodput counts the turns whose calls all met them."))
    max_calls: int = _is(200, Row("limits.calls", values.count, _WHOLE, "Calls of one turn. 0: no limit."))
    max_minutes: float = _is(60.0, Row(
        "limits.minutes", values.number(0, 10_000), "a number of minutes, 0 or more",
        "Wall time of one turn. 0: no limit."))
    max_tokens: int = _is(0, Row(
        "limits.tokens", values.count, _WHOLE, "Input plus output tokens of one turn. 0: no limit."))
    max_cost: float = _is(0.0, Row(
        "limits.cost", values.number(0, 1_000_000), "a number of US dollars, 0 or more",
        "Cost of one turn by list price. 0: no limit."))
    max_repeats: int = _is(4, Row(
        "limits.repeats", values.count, _WHOLE, "The same failing tool call in a row. 0: no limit."))
    compact_at: int = _is(160_000, Row(
        "context.compact_at", values.count, _WHOLE,
        "Tokens from which the conversation is compacted. 0: only where the service refuses it as too long."))
    compact_by: CompactBy = _is("auto", Row(
        "context.compact_by", values.choice(get_args(CompactBy)), "auto, service or local",
        "service: it is asked to compact inside its replies. local: by a summary of the model's."))
    prices: Mapping[str, Mapping[str, Any]] = _tables(
        "prices", "model", "Own prices, dollars per million tokens: input, output, cached.")
    engines: Mapping[str, Mapping[str, Any]] = _tables(
        "engines", "engine", "Settings of the service's engines, by name.")
    mcp: Mapping[str, Mapping[str, Any]] = _tables(
        "mcp", "server",
        "MCP servers by name: `command` or `url`, and how their calls are approved. Needs the extra `mcp`.")
    notify: Notify = _is("auto", Row(
        "notify", values.choice(get_args(Notify)), "auto, bell or off",
        "How it tells that it asks while its terminal is not in front. auto: bell and desktop notification."))
    editor_code_lens: bool = _is(False, _switch("editor.code_lens", "Editors: lenses over what a turn changed."))
    editor_ai_comments: bool = _is(False, _switch(
        "editor.ai_comments", "Editors: a comment that ends in `AI!` starts a turn, in trusted folders."))
    editor_inline_completion: bool = _is(False, _switch(
        "editor.inline_completion", "Editors: completions while typing, of the model."))
    serve_keys: str | None = _is(None, _served("--keys"))
    serve_connections: int = _is(0, _served("--connections"))
    serve_requests_per_minute: int = _is(0, _served("--requests-per-minute"))
    serve_tokens_per_minute: int = _is(0, _served("--tokens-per-minute"))
    serve_log_level: LogLevel = _is("warning", _served("--log-level"))
    serve_log_format: LogFormat = _is("json", _served("--log-format"))
    # fmt: on


SETTINGS = tuple(Setting(field.name, field.metadata[_ROW]) for field in dataclasses.fields(Settings))
BY_KEY: Mapping[str, Setting] = {setting.key: setting for setting in SETTINGS}
BY_FIELD: Mapping[str, Setting] = {setting.field: setting for setting in SETTINGS}
