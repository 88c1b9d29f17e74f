"""The one exception tree of Loopline. Every error has a stable `code`, a `retry` rule and, where one helps, a `hint`.

    LooplineError
    ├── UsageError              usage                 the command line or a call was wrong                exit 2
    ├── ConfigError             invalid_config        a settings file or variable is wrong                exit 2
    ├── AuthError               auth_refused          the service refused the key                         exit 2
    ├── TransportError                                bytes did not get through                           exit 3
    │   ├── ServiceUnreachable  service_unreachable   nothing answers at the address
    │   ├── HandshakeRefused    handshake_refused     an HTTP status instead of 101 (`status`)
    │   ├── ConnectionLost      connection_lost       the socket died (`close_code`, None without a close frame)
    │   └── MessageTooLarge     message_too_large     above the frame limit; goes by HTTP
    ├── WireError               invalid_json | invalid_request | unsupported_event_type  a frame does not fit the format
    ├── ProtocolError           protocol_violation    an event that is illegal in the present state
    ├── ServiceError            the wire's own code   the service answered with an error
    ├── ToolError               tool codes            a tool's refusal; becomes a result for the model
    ├── EngineError             engine codes          an engine inside the service failed
    ├── LimitReached            limit_*               a limit of the turn was reached                     exit 1
    ├── FileRefused             not_found | not_a_file | too_large | unreadable | malformed  a file that is not read
    └── StateError              state_*               history, journal or store can't be read or written  exit 2

Callers catch a class or read `code`; nobody matches on message text.
"""

from __future__ import annotations

from enum import Enum


class Retry(Enum):
    """What a caller may do after an error."""

    NEVER = "never"
    """Repeating the same thing gives the same error."""
    NOW = "now"
    """Nothing ran; repeat at once."""
    BACKOFF = "backoff"
    """Repeat after a pause; `retry_after_s` says how long where the peer told."""


class LooplineError(Exception):
    """Root of the tree.

    `message` is one sentence for a person: what, where, what to do. `hint` is a way out (a command to run), or None.
    """

    code = "error"
    retry = Retry.NEVER
    exit_code = 1

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code


class UsageError(LooplineError):
    code = "usage"
    exit_code = 2


class ConfigError(LooplineError):
    """A setting can't be used. `where` is a file, a variable or a flag; `key` the dotted name, "" for all of a file."""

    code = "invalid_config"
    exit_code = 2

    def __init__(self, where: str, key: str, expected: str, *, got: str | None = None, hint: str | None = None) -> None:
        at = f"{where}: {key}" if key else where
        found = f", got {got}" if got is not None else ""
        super().__init__(f"{at}: expected {expected}{found}", hint=hint)
        self.where, self.key, self.expected = where, key, expected


class AuthError(LooplineError):
    code = "auth_refused"
    exit_code = 2


class TransportError(LooplineError):
    code = "transport"
    retry = Retry.BACKOFF
    exit_code = 3


class ServiceUnreachable(TransportError):
    code = "service_unreachable"


class HandshakeRefused(TransportError):
    """The service answered the upgrade with an HTTP status. 426 means: WebSocket is off, use HTTP."""

    code = "handshake_refused"

    def __init__(self, message: str, *, status: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class ConnectionLost(TransportError):
    """The socket ended. `close_code` is the WebSocket close code, None without a close frame."""

    code = "connection_lost"

    def __init__(self, message: str, *, close_code: int | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.close_code = close_code


class MessageTooLarge(TransportError):
    code = "message_too_large"
    retry = Retry.NEVER


class WireError(LooplineError):
    """A frame or body does not fit the wire format. `param` is the field path (`input[3].call_id`), None for all."""

    code = "invalid_request"

    def __init__(self, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message, code=code)
        self.param = param


class ProtocolError(LooplineError):
    code = "protocol_violation"


class ServiceError(LooplineError):
    """The service's own error: an `error` frame, `response.failed`, or an HTTP status with an error body.

    `code` is the wire's code; `status` the HTTP-like status and `retry_after_s` the pause asked for, None if not sent.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        param: str | None = None,
        retry: Retry = Retry.NEVER,
        retry_after_s: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.status, self.param, self.retry_after_s = status, param, retry_after_s
        self.retry = retry


class ToolError(LooplineError):
    """A tool refuses or fails. Its text becomes the tool's output for the model; it never ends the turn."""

    code = "tool_failed"


class FileRefused(LooplineError):
    """A file that somebody else may have put there is not read. `code` says why, `reason` in words without its name."""

    code = "unreadable"
    exit_code = 2

    def __init__(self, shown: str, reason: str, *, code: str) -> None:
        super().__init__(f"{shown}: {reason}" if shown else reason, code=code)
        self.reason = reason


class EngineError(LooplineError):
    """`retry_after_s`: the pause that the engine asks for before the next try, None if it does not say."""

    code = "engine_failed"

    def __init__(
        self, message: str, *, code: str | None = None, hint: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.retry_after_s = retry_after_s


class LimitReached(LooplineError):
    code = "limit_reached"


class StateError(LooplineError):
    code = "state"
    exit_code = 2
