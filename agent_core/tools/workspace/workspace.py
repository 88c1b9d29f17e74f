"""The workspace: the texts below the roots.

Owns: what the model has seen of each file, and the rule that a write needs the base it was made from. Open buffers of a
host come in through `Documents`; without one, disk is all.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from agent_core.errors import ToolError
from agent_core.tools.workspace import disk, text
from agent_core.tools.workspace.changes import Change, Changes, Content, Opaque
from agent_core.tools.workspace.guarded import GIT, Entry, GuardRules
from agent_core.tools.workspace.held import HeldRules
from agent_core.tools.workspace.ignore import OWN_IGNORE_FILE, closed
from agent_core.tools.workspace.merge import merge
from agent_core.tools.workspace.roots import Location, Roots
from agent_core.tools.workspace.secret_names import SecretRules
from agent_core.untrusted_files import kind_of

SETTINGS_FILE = ".loopline/config.toml"
"""A folder's settings, below its root."""
UNCONFIRMED = "unconfirmed"
"""Code of the ToolError for an edit that an editor says it made and has not shown."""
MAX_TEXT_BYTES = 4_000_000
"""A larger file is neither read nor edited by tools."""

INLINE_BYTES = 256_000
"""Up to here a file is read on the event loop: a thread would cost more than the read."""

REMEMBERED_TEXTS = 256
REMEMBERED_CHARACTERS = 64_000


class OpenDocument(msgspec.Struct, frozen=True):
    """A buffer of the host. `version` grows with each change; `unsaved`: the buffer differs from disk."""

    content: str
    version: int
    unsaved: bool


class Documents(Protocol):
    """Open buffers of a host, by absolute path."""

    async def look(self, path: str) -> None:
        """A tool reads the file: a host that has to be asked for its buffers is asked now. Its wait is bounded."""

    def get(self, path: str) -> OpenDocument | None:
        """The buffer, or None if the file is not open."""

    def opened(self) -> Mapping[str, OpenDocument]:
        """All open buffers at this moment."""

    async def replace(self, path: str, base_version: int, content: str) -> bool:
        """Change the buffer and save it. False if its version is no longer `base_version` or the host refused.

        The wait inside is bounded by the host.
        """


class Recorder(Protocol):
    """Told of each write before it happens, so that it can be undone."""

    def begin(self, at: Location, before: bytes | None, after: bytes | None, mode: int | None) -> int | None:
        """The file is about to become `after`. None: it does not exist. Gives a number for `void`."""

    def void(self, step: int) -> None:
        """That write did not happen."""


class TextFile(msgspec.Struct, frozen=True):
    """A file's text and everything needed to write it back. `version` None: from disk. `digest` names the content."""

    at: Location
    content: str
    encoding: text.Encoding
    digest: bytes
    mode: int
    version: int | None = None
    unsaved: bool = False


class Workspace(Roots):
    """The roots with the texts in them."""

    def __init__(
        self,
        roots: Sequence[Path | str],
        *,
        documents: Documents | None = None,
        secrets: SecretRules | None = None,
        guards: GuardRules | None = None,
        held: HeldRules | None = None,
        max_text_bytes: int = MAX_TEXT_BYTES,
    ) -> None:
        super().__init__(roots)
        self.max_text_bytes = max_text_bytes
        self.changes = Changes()
        self.recorder: Recorder | None = None
        self.documents = documents
        """Open buffers of the host; None without one."""
        self.secrets = secrets or SecretRules()
        self.guards = guards or GuardRules()
        self.held = held or HeldRules()
        self.confirming: Callable[[], Callable[[], None]] = lambda: lambda: None
        """Called before an edit of the settings file that a person agreed to; what it gives is called after it."""
        self._permitted: list[tuple[str, str]] = []
        self._written: dict[tuple[str, str], tuple[bytes, text.Encoding]] = {}
        self._made_folders: dict[tuple[str, str], tuple[str, ...]] = {}
        self._seen: OrderedDict[tuple[str, str], tuple[bytes, str]] = OrderedDict()
        self._unconfirmed: dict[tuple[str, str], tuple[TextFile, str]] = {}

    def check_open(self, at: Location) -> None:
        """Raises ToolError `secret` for names of keys and passwords, `closed` for what `.looplineignore` names."""
        if self.secrets.match(at.relative):
            raise ToolError(f"{at.shown} is on the list of secret files and stays closed to tools", code="secret")
        if at.relative and (closed(at.root, at.relative) or self.held.closed(at.root, at.relative)):
            raise ToolError(f"{at.shown} is closed to tools by {OWN_IGNORE_FILE}", code="closed")

    async def read(self, given: str | Location) -> TextFile:
        """The file's text: from the host's open buffer, else from disk. Raises ToolError with the reason."""
        at = self.resolve(given) if isinstance(given, str) else given
        self.check_open(at)
        if self.documents is not None:
            await self.documents.look(str(at.path))
            document = self.documents.get(str(at.path))
            if document is not None and (document.unsaved or await self._same_on_disk(at, document)):
                return self._from_buffer(at, document)
        return await self._from_disk(at)

    async def _same_on_disk(self, at: Location, document: OpenDocument) -> bool:
        """False if the file was rewritten under a buffer without changes: then the disk is what counts."""
        try:
            saved = await self._from_disk(at)
        except ToolError:
            return True
        return text.to_newlines(saved.content) == text.to_newlines(document.content)

    async def _from_disk(self, at: Location) -> TextFile:
        snapshot = await self._snapshot(at)
        # What the tools wrote is read as it was written, also where its bytes alone would look like something else.
        written = self._written.get(at.key)
        known = written[1] if written is not None and written[0] == snapshot.digest else None
        decoded = text.decode(snapshot.data) if known is None else (known.decode(snapshot.data), known)
        if decoded is None:
            raise ToolError(f"{at.shown} is a binary file ({len(snapshot.data):,} bytes)", code="binary")
        return TextFile(at, decoded[0], decoded[1], snapshot.digest, snapshot.mode)

    def note_seen(self, file: TextFile) -> None:
        """The model was shown this content; later writes of the file are based on it."""
        key = file.at.key
        kept = file.content if len(file.content) <= REMEMBERED_CHARACTERS else ""
        self._seen[key] = (file.digest, kept)
        self._seen.move_to_end(key)
        while len(self._seen) > REMEMBERED_TEXTS:
            self._seen.popitem(last=False)

    def seen(self, file: TextFile) -> str | None:
        """The content that the model was shown, if it was another than `file` has now; else None.

        Kept only to say what changed, never written anywhere; "" if it was too long to keep.
        """
        entry = self._seen.get(file.at.key)
        return entry[1] if entry is not None and entry[0] != file.digest else None

    def seen_places(self) -> list[Location]:
        """Where the files are that the model was shown, below roots that are still there."""
        return [Location(*key, self.shown(*key)) for key in self._seen if key[0] in self.roots]

    def open_texts(self) -> dict[str, str]:
        """Texts of the host's buffers that differ from disk, by absolute path; empty without a host."""
        if self.documents is None:
            return {}
        return {path: document.content for path, document in self.documents.opened().items() if document.unsaved}

    def forget(self, at: Location) -> None:
        self._seen.pop(at.key, None)

    async def write(self, base: TextFile, content: str) -> TextFile:
        """Replace the text of `base` by `content`, in the same encoding. Raises ToolError `changed` if it moved on."""
        self.check_writable(base.at)
        self.changes.note(base.at.shown, base.content)
        data = self.encoded(base.at, base.encoding, content)
        with self._recorded(base.at, base.encoding.encode(base.content), data, base.mode):
            self._unconfirmed.pop(base.at.key, None)
            if base.version is not None:
                return await self._write_buffer(base, content)
            disk.replace_file(base.at.root, base.at.relative, base.at.shown, data, base.digest)
        written = TextFile(base.at, content, base.encoding, disk.digest_of(data), base.mode)
        self._written[base.at.key] = (written.digest, base.encoding)
        self.note_seen(written)
        return written

    async def create(
        self, at: Location, content: str, encoding: text.Encoding = text.UTF8, mode: int | None = None
    ) -> TextFile:
        """A new file and its missing folders; `mode` None: as the user's umask says.

        Raises ToolError `changed` if something has that name.
        """
        self.check_writable(at)
        if not at.relative:
            raise ToolError(f"{at.shown} is a directory", code="not_a_file")
        data = self.encoded(at, encoding, content)
        self.changes.note(at.shown, None)
        with self._recorded(at, None, data, mode):
            made = disk.create_file(at.root, at.relative, at.shown, data, mode)
        self._made_folders[at.key] = made.folders
        written = TextFile(at, content, encoding, disk.digest_of(data), made.mode)
        self._written[at.key] = (written.digest, encoding)
        self.note_seen(written)
        return written

    async def remove(self, base: TextFile) -> None:
        """Delete the file, and folders that were made for it if they are empty again.

        Raises ToolError `changed` if its content is no longer that of `base`.
        """
        self.check_writable(base.at)
        if base.version is not None:
            raise ToolError(
                f"{base.at.shown} is open in the editor; close it before deleting it", code="open_in_editor"
            )
        self.changes.note(base.at.shown, base.content)
        with self._recorded(base.at, base.encoding.encode(base.content), None, base.mode):
            disk.remove_file(base.at.root, base.at.relative, base.at.shown, base.digest)
        disk.remove_empty(base.at.root, self._made_folders.pop(base.at.key, ()))
        self.forget(base.at)

    @contextmanager
    def _recorded(self, at: Location, before: bytes | None, after: bytes | None, mode: int | None) -> Iterator[None]:
        step = self.recorder.begin(at, before, after, mode) if self.recorder is not None else None
        try:
            yield
        except (ToolError, OSError) as error:
            # An edit that may still show up stays on record, so that it can be undone once it has.
            uncertain = isinstance(error, ToolError) and error.code == UNCONFIRMED
            if self.recorder is not None and step is not None and not uncertain:
                self.recorder.void(step)
            raise

    async def came_through(self) -> list[str]:
        """Files whose edit was unconfirmed and is in the text now; each is named once."""
        found: list[str] = []
        for key, (base, content) in list(self._unconfirmed.items()):
            try:
                now = await self.read(base.at)
            except ToolError:
                del self._unconfirmed[key]
                continue
            if now.content != base.content and _holds(now.content, base.content, content):
                del self._unconfirmed[key]
                self.note_seen(now)
                found.append(base.at.shown)
        return found

    async def net_changes(self) -> list[Change]:
        """What edits and commands changed so far and is still different."""
        return self.changes.against({path: await self._present(path) for path in self.changes.paths()})

    async def _present(self, path: str) -> Content:
        try:
            return (await self.read(path)).content
        except ToolError:
            pass
        try:
            at = self.resolve(path)
            return Opaque((await self._snapshot(at)).digest) if self.kind(at) is not None else None
        except ToolError:  # there, but larger than what is read, or no file any more
            return Opaque(b"")

    def check_writable(self, at: Location) -> None:
        """Raises ToolError for secrets, for what git and its hooks live on, for what runs by itself and was not
        permitted, and for roots that are gone."""
        if at.root not in self.roots:
            raise ToolError(f"{at.shown} is outside the workspace", code="outside")
        self.check_open(at)
        if GIT in at.relative.lower().split("/"):
            raise ToolError(f"{at.shown} belongs to git; tools don't write there", code="denied_path")
        entry = self.guards.find(at.relative)
        if entry is not None and at.key not in self._permitted:
            raise ToolError(f"{at.shown} is guarded: {entry.why}", code="guarded")

    def guarded(self, given: str) -> Entry | None:
        """The guarded entry that a path leads to, links followed; None also for what is outside."""
        try:
            return self.guards.find(self.resolve(given).relative)
        except ToolError:
            return None

    @contextmanager
    def permitting(self, given: Sequence[str]) -> Iterator[None]:
        """In here these paths may be written although they are guarded: a person agreed."""
        keys: list[tuple[str, str]] = []
        for path in given:
            with suppress(ToolError):
                keys.append(self.resolve(path).key)
        self._permitted += keys
        # What such an edit changes of the rules counts, but not what somebody else had loosened before it.
        rules = [(root, path.removesuffix(OWN_IGNORE_FILE)) for root, path in keys if _is_named(path, OWN_IGNORE_FILE)]
        rules = [each for each in rules if self.held.settled(*each)]
        confirm = self.confirming() if any(path == SETTINGS_FILE for _, path in keys) else None
        try:
            yield
        finally:
            for key in keys:
                self._permitted.remove(key)
            for root, prefix in rules:
                self.held.confirm(root, prefix)
            if confirm is not None:
                confirm()

    async def hold(self) -> None:
        """From now on the rules of `.looplineignore` files only get tighter; also for roots that came since."""
        roots = self.roots
        if any(not self.held.knows(root) for root in roots):
            await asyncio.to_thread(self.held.take, roots)
        else:
            self.held.take(roots)

    def may_write(self, given: str) -> bool:
        """Whether a command may write to this path: inside a root, links followed, and not closed to tools."""
        try:
            self.check_writable(self.resolve(given))
        except ToolError:
            return False
        return True

    def kind(self, at: Location) -> str | None:
        """ "file", "directory", another kind in words, or None if there is nothing."""
        try:
            mode = os.lstat(at.path).st_mode
        except OSError:
            return None
        if stat.S_ISREG(mode):
            return "file"
        return "directory" if stat.S_ISDIR(mode) else kind_of(mode)

    async def _snapshot(self, at: Location) -> disk.Snapshot:
        arguments = (at.root, at.relative or ".", at.shown, self.max_text_bytes)
        try:
            size = os.lstat(at.path).st_size
        except OSError:
            size = 0
        if size <= INLINE_BYTES:
            return disk.read_file(*arguments)
        return await asyncio.to_thread(disk.read_file, *arguments)

    def _from_buffer(self, at: Location, document: OpenDocument) -> TextFile:
        digest = disk.digest_of(document.content.encode("utf-8", "surrogatepass"))
        return TextFile(at, document.content, text.UTF8, digest, 0o644, document.version, document.unsaved)

    async def _write_buffer(self, base: TextFile, content: str) -> TextFile:
        assert self.documents is not None and base.version is not None
        try:
            made = await self.documents.replace(str(base.at.path), base.version, content)
        except ToolError as error:
            if error.code == UNCONFIRMED:
                self._unconfirmed[base.at.key] = (base, content)
            raise
        if not made:
            raise ToolError(
                f"{base.at.shown} changed in the editor in the meantime; nothing was written", code="changed"
            )
        written = self._from_buffer(base.at, OpenDocument(content, base.version + 1, False))
        self.note_seen(written)
        return written

    def encoded(self, at: Location, encoding: text.Encoding, content: str) -> bytes:
        """Raises ToolError `not_encodable` that names the character."""
        try:
            return encoding.encode(content)
        except UnicodeEncodeError as error:
            character = content[error.start]
            where = f"{at.shown} is written in {encoding.label}, which has no U+{ord(character):04X}"
            raise ToolError(f"{where}; nothing was written", code="not_encodable") from error


def _is_named(path: str, name: str) -> bool:
    return path.rpartition("/")[2] == name


def _holds(now: str, base: str, target: str) -> bool:
    """Whether a text has what leads from `base` to `target`: then there is nothing of it left to bring in."""
    now, base, target = (text.to_newlines(each) for each in (now, base, target))
    merged = merge(base, now, target)
    return not merged.clashes and merged.text == now
