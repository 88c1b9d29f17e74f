"""Settings files as they change: read again while a session lives, and applied where that is possible.

A file that can't be used is named with its key, and the settings from before stay in force. What a workspace's file
said about rules holds: the agent could have changed it, so it only ever gets tighter, until a person agrees to an edit
of the file that loosens it, or opens a new session.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from agent_core.config.load import Loaded
from agent_core.config.settings import SETTINGS, Settings
from agent_core.errors import ConfigError
from agent_core.text import is_sound
from agent_core.tools.workspace.held import HeldRules

log = logging.getLogger(__name__)

STEP_MS: Final = 50
SETTLE_MS: Final = 200
"""An editor writes a file in several steps; they are taken together within this time."""

LOOK_EVERY_MS: Final = 1_000
"""How often the files are looked at without being told: not every file system tells."""

_STRICT: Final = ("auto", "ask", "never")

LIVE: Final = frozenset({"approve", "approve_read", "approve_edit", "approve_command", "allow", "deny", "max_calls",
                         "max_minutes", "max_tokens", "max_cost", "max_repeats", "prices", "model", "effort",
                         "reasoning_summary"})  # fmt: skip
"""Fields that a session takes over while it lives; the others count from the next session on."""


class FileWatch:
    """Calls `changed` on the event loop when one of `files` may have changed; they need not exist yet. `start` it."""

    def __init__(self, files: Iterable[Path], changed: Callable[[], None]) -> None:
        self._files, self._changed = tuple(files), changed
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._seen = self._stamps()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="loopline-settings", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ask it to end, which takes `STEP_MS`; `join` waits for that."""
        self._stop.set()

    async def join(self) -> None:
        # A thread that is inside the watching library when the interpreter ends would end the process with a fault.
        self._stop.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._watch()
        except (OSError, RuntimeError) as error:
            # No more watches to be had, or the loop is gone: settings then count from the next session on.
            log.info("settings files are not watched: %s", type(error).__name__)

    def _watch(self) -> None:
        """Until a folder came or went, which changes what is to be watched."""
        from watchfiles import watch

        folders = self._folders()
        # The library takes names in UTF-8 only; settings below another one are looked at from time to time.
        watched = [folder for folder in folders if is_sound(str(folder))]
        if not watched:
            if not self._stop.wait(LOOK_EVERY_MS / 1000):
                self._look()
            return
        names = {str(path) for file in self._files for path in (file, *file.parents) if path not in folders}
        for _ in watch(
            *watched,
            watch_filter=lambda _, path: path in names,
            stop_event=self._stop,
            step=STEP_MS,
            debounce=SETTLE_MS,
            rust_timeout=LOOK_EVERY_MS,
            yield_on_timeout=True,
            recursive=False,
        ):
            self._look()
            if self._folders() != folders:
                return

    def _look(self) -> None:
        """What counts is how the files are: a change while nothing was watched is seen as well."""
        if (stamps := self._stamps()) != self._seen:
            self._seen = stamps
            self._loop.call_soon_threadsafe(self._changed)

    def _folders(self) -> set[Path]:
        return {_existing(file.parent) for file in self._files}

    def _stamps(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(file) for file in self._files]


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _existing(folder: Path) -> Path:
    """`folder`, or the nearest one above it that exists."""
    return next(each for each in (folder, *folder.parents) if each.is_dir())


class KeptRules(msgspec.Struct):
    """What a session's workspace said about rules: the settings in force, and which files are closed. Belongs to
    whoever hosts the session, so that it outlives what is opened anew for other settings. `loaded` None: not yet."""

    loaded: Loaded | None = None
    closed: HeldRules = msgspec.field(default_factory=HeldRules)

    def begin(self, loaded: Loaded) -> Loaded:
        """The settings with which the session is opened, or opened anew."""
        self.loaded = loaded if self.loaded is None else held(self.loaded, loaded)
        return self.loaded


class Reloader:
    """Reads the settings again when asked to. `apply` gets good ones that differ; `tell` a line for the user.

    `load` reads all layers and raises ConfigError. `rules` have begun.
    """

    def __init__(
        self,
        rules: KeptRules,
        load: Callable[[], Loaded],
        apply: Callable[[Settings], None],
        tell: Callable[[str, bool], None],
    ) -> None:
        self._rules = rules
        self._load, self._apply, self._tell = load, apply, tell
        self._complaint = ""

    @property
    def loaded(self) -> Loaded:
        assert self._rules.loaded is not None
        return self._rules.loaded

    def reload(self) -> None:
        self._take(confirmed=False)

    def confirming(self) -> Callable[[], None]:
        """Before an edit of the workspace's file that a person agreed to; what it gives is called after it. What was
        loosened before, by whomever, is not what they agreed to."""
        try:
            settled = not _loosened(self.loaded, self._load())
        except ConfigError:
            settled = False
        return lambda: self._take(confirmed=settled)

    def _take(self, *, confirmed: bool) -> None:
        before = self.loaded.settings
        try:
            fresh = self._load()
            loaded = fresh if confirmed else held(self.loaded, fresh)
            if loaded.settings != before:
                self._apply(loaded.settings)
        except ConfigError as error:
            if error.message != self._complaint:
                self._complaint = error.message
                self._tell(f"{error.message}; the settings from before stay in force", True)
            return
        self._complaint = ""
        self._rules.loaded = loaded
        if loaded is not fresh:
            self._tell("rules that the workspace had set were loosened: they hold to the end of this session", False)
        if changed := _changed(before, loaded.settings):
            self._tell(f"settings changed: {', '.join(changed)}", False)


def held(before: Loaded, after: Loaded) -> Loaded:
    """`after` without what it loosens of rules that a workspace's file had set in `before`."""
    kept = _loosened(before, after)
    if not kept:
        return after
    origins = {**after.origins, **{field: before.origins[field] for field in kept}}
    said = {**after.workspace, **{field: before.workspace[field] for field in kept}}
    if "deny" in kept:
        said["deny"] = _both(before.workspace["deny"], after.workspace.get("deny", ()))
    settings = dataclasses.replace(after.settings, **kept)
    return msgspec.structs.replace(after, settings=settings, origins=origins, workspace=said)


def _loosened(before: Loaded, after: Loaded) -> dict[str, Any]:
    """What of the rules that a workspace had set is looser now, with the values that hold."""
    kept: dict[str, Any] = {}
    for field in ("approve", "approve_read", "approve_edit", "approve_command"):
        if (said := before.workspace.get(field)) is None:
            continue
        old, new = getattr(before.settings, field), getattr(after.settings, field)
        # Where a flag or a variable said less than the folder, the folder's word was in force neither before nor now.
        if _STRICT.index(old) >= _STRICT.index(said) > _STRICT.index(new):
            kept[field] = said
    # Whichever layer else says something about `deny`, the workspace's own rules hold.
    if not set(before.workspace.get("deny", ())) <= set(after.settings.deny):
        kept["deny"] = _both(after.settings.deny, before.workspace["deny"])
    return kept


def _both(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


def _changed(before: Settings, after: Settings) -> Sequence[str]:
    words = []
    for setting in SETTINGS:
        if getattr(before, setting.field) != (now := getattr(after, setting.field)):
            later = "" if setting.field in LIVE else " from the next session on"
            words.append(f"{setting.key} is {now!r}{later}" if isinstance(now, str | int | float) else
                         f"{setting.key}{later}")  # fmt: skip
    return words
