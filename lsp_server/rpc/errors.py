"""What may become of a request to the client. All of it is the client's side; none of it ends a turn by itself."""

from __future__ import annotations

from agent_core.hosting.port import FrontEndGone


class ClientError(FrontEndGone):
    """The editor did not do what it was asked."""

    code = "client"


class ClientRefused(ClientError):
    """It answered with an error, or with something that is no answer. `number` is the JSON-RPC code, if it has one."""

    code = "client_refused"

    def __init__(self, method: str, number: int | None) -> None:
        super().__init__(f"the editor refused {method}")
        self.number = number


class ClientSilent(ClientError):
    """It did not answer in time."""

    code = "client_silent"

    def __init__(self, method: str, timeout_s: float) -> None:
        super().__init__(f"the editor did not answer {method} within {timeout_s:g} s")


class ClientGone(ClientError):
    """The connection ended."""

    code = "client_gone"

    def __init__(self, method: str) -> None:
        super().__init__(f"the editor is gone ({method})")
