"""A conversation as the messages of Chat Completions, in the form that a server can take (`profile`). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from agent_core.responses_server.engines.chat_turns import Document, Image, Piece, Turn
from agent_core.responses_server.engines.upstream.profile import Profile


def messages(turns: Iterable[Turn], profile: Profile, reasoning_field: str = "") -> list[dict[str, Any]]:
    """`reasoning_field`: where the server sends reasoning itself, "" if that is not known."""
    turns = list(turns)
    if not profile.tool_role:
        turns = [_told(turn) for turn in turns]
    if profile.one_system:
        turns = _one_system(turns)
    if not profile.parallel_calls:
        turns = [single for at, turn in enumerate(turns) for single in _singles(turns, at, turn)]
    if profile.alternate or not profile.tool_role:
        turns = _alternating(turns)
    field = reasoning_field or "reasoning_content" if profile.reasoning is None else profile.reasoning
    return [_message(turn, profile, field) for turn in turns]


def _one_system(turns: list[Turn]) -> list[Turn]:
    """Instructions at the start become one message; later ones follow as the user's, where they keep their place and
    the prompt its beginning."""
    start = next((at for at, turn in enumerate(turns) if turn.role != "system"), len(turns))
    pieces = [piece for turn in turns[:start] for piece in turn.pieces]
    text = "\n\n".join(piece for piece in pieces if isinstance(piece, str))
    head = [Turn("system", [text])] if text else []
    return [*head, *(Turn("user", turn.pieces) if turn.role == "system" else turn for turn in turns[start:])]


def _alternating(turns: list[Turn]) -> list[Turn]:
    """Neighbours of one role become one message; the user has the first word."""
    done: list[Turn] = []
    for turn in turns:
        last = done[-1] if done else None
        if last is not None and last.role == turn.role and turn.role in ("user", "assistant") and not last.calls:
            thought = "\n\n".join(filter(None, [last.reasoning, turn.reasoning]))
            done[-1] = msgspec.structs.replace(turn, pieces=[*last.pieces, *turn.pieces], reasoning=thought)
            continue
        if turn.role == "assistant" and (last is None or last.role == "system"):
            done.append(Turn("user", ["(the conversation goes on)"]))
        if turn.role == "user" and last is not None and last.role == "tool":
            done.append(Turn("assistant", ["(the outputs were read)"]))
        done.append(turn)
    return done


def _singles(turns: list[Turn], at: int, turn: Turn) -> list[Turn]:
    """A reply with several calls as several replies, each followed by its output."""
    if len(turn.calls) < 2:
        before = next((each for each in reversed(turns[:at]) if each.role != "tool"), None)
        return [] if turn.role == "tool" and before is not None and len(before.calls) > 1 else [turn]
    outputs = turns[at + 1 : at + 1 + len(turn.calls)]
    singles: list[Turn] = []
    for number, (call, output) in enumerate(zip(turn.calls, outputs, strict=True)):
        first = number == 0
        reply = Turn("assistant", turn.pieces if first else [], [call], reasoning=turn.reasoning)
        singles += [reply, output]
    return singles


def _told(turn: Turn) -> Turn:
    """Calls and outputs in words, for a server that knows neither."""
    if turn.role == "tool":
        return Turn("user", [f"Output of {turn.name or 'the tool'}:", *turn.pieces])
    if not turn.calls:
        return turn
    return Turn("assistant", [*turn.pieces, *(f"Call of {call.name} with {call.arguments}" for call in turn.calls)])


def _message(turn: Turn, profile: Profile, reasoning_field: str) -> dict[str, Any]:
    if turn.role == "tool":
        name = {"name": turn.name} if profile.names and turn.name else {}
        return {"role": "tool", "tool_call_id": turn.call_id or "", **name, "content": _content(turn)}
    role = "developer" if turn.role == "system" and profile.developer else turn.role
    if not turn.calls:
        return {"role": role, "content": _content(turn)}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in turn.calls
    ]
    thought = {reasoning_field: turn.reasoning} if reasoning_field and turn.reasoning else {}
    content = turn.text or (None if profile.null_content else "")
    return {"role": role, "content": content, **thought, "tool_calls": calls}


def _content(turn: Turn) -> str | list[dict[str, Any]]:
    """Text as a string, since small servers know nothing else."""
    return turn.text if turn.is_text else [_part(piece) for piece in turn.pieces]


def _part(piece: Piece) -> dict[str, Any]:
    if isinstance(piece, Image):
        detail = {"detail": piece.detail} if piece.detail is not None else {}
        return {"type": "image_url", "image_url": {"url": piece.url, **detail}}
    if isinstance(piece, Document):
        known = {"filename": piece.name, "file_data": piece.data, "file_url": piece.url}
        return {"type": "file", "file": {name: value for name, value in known.items() if value is not None}}
    return {"type": "text", "text": piece}
