"""The options of `loopline serve`, each declared once: its flag, type, default and words, and where there is one its
key in a settings file. The command line, the reader of files and the service's settings are made from this table. It
loads nothing, so that `--help` stays quick.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from agent_core.config import values

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["json", "text"]


class ServeOption(NamedTuple):
    """`flag` as typed. `setting`: the field of `ServeSettings` that takes it as it is; None: `cli/serving/` makes
    something of it. `help` is for the command line. Those with a `key` may stand in a file as well: `doc` is for
    `loopline config`, `parse` and `expected` are for what a file holds, and `default` is None, not given."""

    flag: str
    kind: Any
    default: Any
    help: str = ""
    metavar: str | None = None
    setting: str | None = None
    key: str | None = None
    doc: str = ""
    expected: str = ""
    parse: Callable[[Any], Any] = values.text

    @property
    def name(self) -> str:
        """Of the parameter."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def field(self) -> str:
        """Of the settings read from files."""
        return f"serve_{self.name}"


_WHOLE = "a whole number, 0 or more"

OPTIONS: tuple[ServeOption, ...] = (
    ServeOption("--host", str, "127.0.0.1", "Address to listen on.", setting="host"),
    ServeOption("--port", int, 0, "Port to listen on; 0: any free one.", setting="port"),
    ServeOption("--api-key", str | None, None,
                "Key that clients send. [default: LOOPLINE_API_KEY; without any: random, shown once]", "K"),
    ServeOption("--keys", Path | None, None,
                "Named keys, a TOML table [NAME] each: key or sha256, and limits of its own: connections, "
                "requests_per_minute, tokens_per_minute. More by LOOPLINE_API_KEYS=NAME=KEY,…; config serve.keys.",
                "FILE", key="serve.keys", expected="a path",
                doc="TOML file of API keys, a table [NAME] each: key or sha256, and limits of its own."),
    ServeOption("--connections", int | None, None,
                "WebSockets and running requests of a key at once; 0: no limit. Above it: 429 with retry-after. Config "
                "serve.connections. [default: 0]",
                "N", key="serve.connections", parse=values.count, expected=_WHOLE,
                doc="sockets and running requests of a key. 0: no limit."),
    ServeOption("--requests-per-minute", int | None, None,
                "Requests of a key; config serve.requests_per_minute. [default: 0]",
                "N", key="serve.requests_per_minute", parse=values.count, expected=_WHOLE,
                doc="requests of a key a minute; 0: any."),
    ServeOption("--tokens-per-minute", int | None, None,
                "Input and output tokens of a key, taken when a response ends; config serve.tokens_per_minute. "
                "[default: 0]",
                "N", key="serve.tokens_per_minute", parse=values.count, expected=_WHOLE,
                doc="tokens of a key in a minute. 0: no limit."),
    ServeOption("--log-level", str | None, None,
                "What is told on stderr, never bodies or keys; info: a line per response. Config serve.log_level. "
                "[default: warning]",
                "debug|info|warning|error", key="serve.log_level", parse=values.choice(get_args(LogLevel)),
                expected="debug, info, warning or error", doc="what is told on stderr; info: each response."),
    ServeOption("--log-format", str | None, None, "Form of a line; config serve.log_format. [default: json]",
                "json|text", key="serve.log_format", parse=values.choice(get_args(LogFormat)),
                expected="json or text", doc="form of a line on stderr."),
    ServeOption("--shutdown-grace-s", float, 10.0, "How long running responses may go on after SIGTERM or SIGINT.",
                setting="shutdown_grace_s"),
    ServeOption("--ready-file", Path | None, None, "Written once listening: url and pid as JSON.", "F",
                setting="ready_file"),
    ServeOption("--allowed-host", list[str] | None, None, "Further Host names to accept; repeatable.", "H"),
    ServeOption("--store", str | None, None,
                "Where responses with store=true are kept: memory:, sqlite:///PATH, postgresql://user:password@host/name.",
                "URL", setting="store"),
    ServeOption("--connection-minutes", float, 60.0, "Life of a connection.", setting="connection_minutes"),
    ServeOption("--keepalive-s", float, 15.0, "Silence after which a running response says it runs.",
                setting="keepalive_s"),
    ServeOption("--no-websocket", bool, False, "Answer upgrades with 426."),
    ServeOption("--rollout", Path | None, None, "What the model `scripted` plays.", "FILE", setting="rollout_file"),
    ServeOption("--state-mb", int, 1024, "Most that conversations on connections may take in memory, together.", "N",
                setting="state_mb"),
    ServeOption("--state-minutes", float, 60.0,
                "How long a conversation that rests is remembered; 0: no limit.", "N", setting="state_minutes"),
    ServeOption("--enable-rollout", bool, False, "Offer one long response per rollout (an experiment).",
                setting="enable_rollout"),
    ServeOption("--engine", list[str] | None, None,
                "A further model: llama:PATH.gguf, or upstream:URL#MODEL; repeatable.", "NAME=SPEC"),
    ServeOption("--without", str | None, None,
                "Switch mechanisms off, to measure what they give: state, digest, screen-incremental, screen-overlap, "
                "render-cache, item-lru, late-render, route-cache, settle-overlap; all.", "FEATURE,…"),
    ServeOption("--parent-pipe", int | None, None, setting="parent_pipe_fd"),
)  # fmt: skip

SERVED = tuple(option for option in OPTIONS if option.key is not None)
"""Those that a settings file can have."""
