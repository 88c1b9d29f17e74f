"""What a session that is resumed takes from its own past: folders, model and service, where nobody says otherwise."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec

from agent_core.agent.history import History, SessionHeader
from agent_core.config.load import Loaded, Origin
from agent_core.errors import UsageError
from agent_core.text import real_name

SAID_NOW = ("env", "flag")
"""Layers of settings by which a user says something for this very run."""


def check_id(session: str) -> str:
    """Raises UsageError for what can be no session's id."""
    if not session.replace("_", "").isalnum():
        raise UsageError(f"no session is named {session[:80]!r}", hint="`loopline sessions` lists them")
    return session


def read_header(folder: Path, session: str) -> SessionHeader:
    """Raises UsageError for what is no id, StateError where the session can't be read."""
    return History.read(folder / f"{check_id(session)}.jsonl").header


def roots_of(header: SessionHeader) -> tuple[Path, ...]:
    """The folders that the session worked in. Raises UsageError if one is gone, or if the file lost them."""
    if not header.roots and not header.model:
        raise UsageError(
            "the first line of the session's file is damaged: its folders are lost",
            hint="name the folder with --workspace",
        )
    roots = tuple(Path(real_name(root)) for root in header.roots)
    for root in roots:
        if not root.is_dir():
            hint = "name the folder with --workspace if it moved"
            raise UsageError(f"the session worked in {root}, which is gone", hint=hint)
    return roots


def as_it_was(loaded: Loaded, header: SessionHeader, path: Path) -> Loaded:
    """The settings with the session's own model and service, where neither a flag nor a variable names another."""
    settings, origins = loaded.settings, dict(loaded.origins)
    origin = Origin("session", str(path))
    if header.model and origins["model"].layer not in SAID_NOW and origins["base_url"].layer not in SAID_NOW:
        settings = dataclasses.replace(settings, model=header.model)
        origins["model"] = origin
    if header.base_url is not None and origins["base_url"].layer not in SAID_NOW:
        settings = dataclasses.replace(settings, base_url=header.base_url)
        origins["base_url"] = origin
    if header.base_url is not None and not {origins["provider"].layer, origins["base_url"].layer} & set(SAID_NOW):
        settings = dataclasses.replace(settings, provider=header.provider or None)
        origins["provider"] = origin
    return msgspec.structs.replace(loaded, settings=settings, origins=origins)
