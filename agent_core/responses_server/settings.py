"""Typed settings of the service, one field per option of `loopline serve`.

The command line builds them; nothing here reads the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent_core.config.serve import LogFormat, LogLevel
from agent_core.errors import ConfigError

FEATURES: Mapping[str, str] = {
    "state": "what a lane remembers; without it an id is looked up in the store",
    "digest": "tools recognised by their bytes",
    "screen-incremental": "screening of new items only",
    "screen-overlap": "long screening behind the first event",
    "render-cache": "tokens that a chain has rendered, and rendered headers",
    "item-lru": "tokens of any text that was rendered lately, whoever sent it",
    "late-render": "rendering behind the first event, for engines that take no tokens",
    "route-cache": "routes resolved once per connection",
    "settle-overlap": "settling behind the terminal frame",
}
"""What `--without` can switch off, to measure what each gives; `all` is each of them."""


MAX_FRAME_BYTES = 16 * 1024 * 1024
"""Largest WebSocket message that is served; a larger one is answered by an `error`, code `message_too_large`."""

FRAME_CEILING_BYTES = 64 * 1024 * 1024
"""Largest WebSocket message that is received at all; beyond it the connection is closed with 1009."""

MAX_BODY_BYTES = 50 * 1024 * 1024
"""Largest HTTP body, as at the vendor; a larger one is answered by 413, code `message_too_large`. Above the frame limit
clients go by HTTP, so it is larger than a frame. Its outermost object is read at once, in 0.1 to 0.3 s at this size."""


Reread = Callable[[], tuple[Mapping[str, str], Mapping[str, Mapping[str, Any]]]]
"""Engine specs by model name, and options by model name. Raises LooplineError."""


class KeyLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one key may use; 0: no limit. `connections`: WebSockets and running HTTP requests at once."""

    connections: int = 0
    requests_per_minute: int = 0
    tokens_per_minute: int = 0

    def __post_init__(self) -> None:
        if min(self.connections, self.requests_per_minute, self.tokens_per_minute) < 0:
            raise ValueError("a limit is a whole number, 0 or more")


class ApiKey(msgspec.Struct, frozen=True):
    """A bearer key and the name it goes by in logs and limits.

    `sha256`: hex digest of the key, in its place. `limits` None: those of the settings.
    """

    name: str
    key: str
    sha256: str = ""
    limits: KeyLimits | None = None

    def __repr__(self) -> str:
        return f"ApiKey({self.name!r})"


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything `serve` needs.

    `host`, `port`: where to listen, port 0 takes a free one. `api_keys`: bearer keys that are let in; never empty.
    `ready_file`: written once listening (None: not written). `parent_pipe_fd`: inherited read end of a pipe; the
    service ends within 2 s of its end of file (None: no parent watched). `allowed_hosts`: Host names let in besides
    `host` and localhost. `store`: `memory:`, `sqlite:///PATH` or `postgresql://…` (None: `responses.db` in
    `state_dir`, or memory without one). `state_dir`: home of telemetry and store (None: neither is written).
    `connection_minutes`: life of a WebSocket. `keepalive_s`: silence after which `response.in_progress` is repeated,
    0 = never. `websocket` False: upgrades are answered 426. `rollout_file`: what `scripted` plays (None: its
    built-in behaviour).
    `engines`: model name to `kind:spec`; `engine_options`: model name to what that kind of engine takes. `without`:
    features switched off, out of `FEATURES`. `enable_rollout`: an experiment, see `rollout.py`.
    `shutdown_grace_s`: how long running responses may go on after a signal. `key_limits`: of each key that has none of
    its own. `prices`: own prices by model, over the list's, as `telemetry.prices` reads them. `log_level`: what is told
    on stderr from; at `info` that is a line per response. `reread`: reads engines and their options anew, for a
    reload by SIGHUP (None: there is none). `state_heads`, `state_mb`, `state_minutes`: bounds of what
    all lanes remember, see `state/retention.py`; minutes 0: no limit.
    """

    api_keys: tuple[ApiKey, ...]
    host: str = "127.0.0.1"
    port: int = 0
    ready_file: Path | None = None
    parent_pipe_fd: int | None = None
    allowed_hosts: tuple[str, ...] = ()
    store: str | None = None
    state_dir: Path | None = None
    connection_minutes: float = 60.0
    keepalive_s: float = 15.0
    websocket: bool = True
    enable_rollout: bool = False
    rollout_file: Path | None = None
    engines: Mapping[str, str] = msgspec.field(default_factory=dict)
    engine_options: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    without: frozenset[str] = frozenset()
    shutdown_grace_s: float = 10.0
    key_limits: KeyLimits = KeyLimits()
    prices: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    log_level: LogLevel = "warning"
    log_format: LogFormat = "json"
    reread: Reread | None = None
    state_heads: int = 10_000
    state_mb: int = 1024
    state_minutes: float = 60.0

    def __post_init__(self) -> None:
        if not self.api_keys or not all(key.key or key.sha256 for key in self.api_keys):
            raise ConfigError("serve", "api-key", "at least one key that is not empty")
        if len({key.name for key in self.api_keys}) < len(self.api_keys):
            raise ConfigError("serve", "api-key", "keys with different names")
        if unknown := self.without - set(FEATURES):
            raise ConfigError("serve", "without", f"some of {', '.join(FEATURES)}", got=", ".join(sorted(unknown)))
        if not 0 <= self.port <= 65535:
            raise ConfigError("serve", "port", "a number from 0 to 65535", got=str(self.port))
        if self.connection_minutes <= 0:
            raise ConfigError("serve", "connection-minutes", "more than 0", got=str(self.connection_minutes))
        if min(self.state_heads, self.state_mb, self.state_minutes) < 0:
            raise ConfigError("serve", "state-mb", "bounds of 0 or more")
        if self.keepalive_s < 0:
            raise ConfigError("serve", "keepalive-s", "0 or more", got=str(self.keepalive_s))

    def __repr__(self) -> str:
        """Without what may hold keys."""
        return f"ServeSettings({self.host!r}, {self.port}, engines={list(self.engines)})"

    def limits_of_keys(self) -> dict[str, KeyLimits]:
        """Limits by name of the key."""
        return {key.name: key.limits or self.key_limits for key in self.api_keys}

    def has(self, feature: str) -> bool:
        """Whether a feature out of `FEATURES` is on."""
        return feature not in self.without
