"""`tool_choice` in one shape: the words, a named tool, and the `allowed_tools` subset."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Raw, Struct, UnsetType

from agent_core.errors import WireError
from agent_core.wire.bounds import MAX_TOOLS, require_few
from agent_core.wire.codec import present, read

Mode = Literal["none", "auto", "required"]

_NULL = Raw(b"null")


class ToolChoice(Struct, frozen=True, kw_only=True):
    """What the model may, must or must not call.

    `mode` "required" with `type` None means any tool; with `type` that kind, and with `name` that very tool, must be
    called. `allowed` is the subset that an `allowed_tools` choice leaves, None without one.
    """

    mode: Mode = "auto"
    type: str | None = None
    name: str | None = None
    allowed: list[dict[str, Any]] | None = None


def read_tool_choice(raw: Raw | UnsetType, path: str = "tool_choice") -> ToolChoice:
    """Absent and null mean "auto". Raises WireError with the path of the misfit."""
    if not present(raw):
        return ToolChoice()
    found: dict[str, Raw] | str = read(raw, dict[str, Raw] | str, path)
    if isinstance(found, str):
        return ToolChoice(mode=read(raw, Mode, path))
    kind: str = read(found.get("type", _NULL), str, f"{path}.type")
    if kind == "allowed_tools":
        mode: Literal["auto", "required"] = read(found.get("mode", _NULL), Literal["auto", "required"], f"{path}.mode")
        allowed: list[dict[str, Any]] = read(found.get("tools", _NULL), list[dict[str, Any]], f"{path}.tools")
        require_few(f"{path}.tools", len(allowed), MAX_TOOLS, "tools")
        return ToolChoice(mode=mode, allowed=allowed)
    name: str | None = read(found.get("name", _NULL), str | None, f"{path}.name")
    if kind in ("function", "custom") and not name:
        raise WireError(f"{path}.name is missing.", param=f"{path}.name")
    return ToolChoice(mode="required", type=kind, name=name)
