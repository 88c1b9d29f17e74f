"""Where a repository keeps what it stores, and which of its files make git run something. Files are only read.

A linked worktree and a submodule keep their index and refs elsewhere, which `.git`, a file there, points to. Such a
pointer counts only where the other side points back, so that a folder can't claim another's repository.
"""

# Plain strings: looked at around each command.
# ruff: noqa: PTH102, PTH112, PTH114, PTH118, PTH120
# ruff: noqa: PTH208

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from agent_core.tools.workspace.guarded import GIT
from agent_core.untrusted_files import read_plain

MAX_READ_BYTES = 64_000
MAX_MODULES = 200
"""Submodules of one repository that are looked at."""

RUN_CODE = ("config", "config.worktree", "hooks", "commondir", "gitdir")
"""What of a git folder makes git run something, or says where that is."""

_VALUE = re.compile(r"^\s*(?:\[[^\]]*\]\s*)?([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*?)\s*$", re.MULTILINE)
_SECTION = re.compile(r'^\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)$')
_INERT = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|worktree"
    r"|autocrlf|eol)|user\.(?:name|email)|init\.defaultbranch|extensions\.objectformat"
    r"|remote\..*\.(?:url|fetch)|branch\..*\.(?:remote|merge|rebase)|submodule\..*\.(?:url|active)|submodule\.active"
)
_NO_PROGRAMS = frozenset({"worktree", "url", "pushurl", "fetch", "push", "merge", "remote"})


class Repository(msgspec.Struct, frozen=True):
    """`top` is the folder with the entry `.git`; `folder` holds its index and HEAD, `common` its objects, refs and
    configuration (the same but for linked worktrees)."""

    top: str
    folder: str
    common: str


def repository_at(top: str) -> Repository | None:
    """The repository whose entry `.git` is in `top`; None where there is none that can be believed."""
    entry = os.path.join(top, GIT)
    try:
        mode = os.lstat(entry).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        good = _is_git_folder(entry) and not os.path.lexists(os.path.join(entry, "commondir"))
        return Repository(top, entry, entry) if good else None
    pointed = _line(entry) if stat.S_ISREG(mode) else None
    if pointed is None or not pointed.startswith("gitdir: "):
        return None
    folder = os.path.realpath(os.path.join(top, pointed.removeprefix("gitdir: ")))
    if not _is_own_folder(folder):
        return None
    common = _line(os.path.join(folder, "commondir"))
    if common is None:
        return Repository(top, folder, folder) if _is_submodule(folder, top) else None
    shared = os.path.realpath(os.path.join(folder, common))
    back = _line(os.path.join(folder, "gitdir"))
    good = (
        back is not None
        and os.path.realpath(os.path.join(folder, back)) == os.path.realpath(entry)
        and os.path.dirname(folder) == os.path.join(shared, "worktrees")
        and _is_git_folder(shared)
    )
    return Repository(top, folder, shared) if good else None


def repository_around(folder: str) -> Repository | None:
    """The repository that `folder` is in without having an entry `.git` itself."""
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        if os.path.lexists(os.path.join(folder, GIT)):
            return repository_at(folder)
    return None


def code_of(git_folder: str) -> list[str]:
    """Existing files and folders of a git folder that make git run something, those of its submodules and linked
    worktrees too."""
    return [path for folder in (git_folder, *inner_folders(git_folder)) for path in code_in(folder)]


def make_hooks(git_folder: str) -> None:
    """An empty folder for hooks where there is none, so that nobody else can make it."""
    with suppress(OSError):
        os.mkdir(os.path.join(git_folder, "hooks"))


def code_in(git_folder: str) -> list[str]:
    """The same, of this folder alone and as it is."""
    return [path for name in RUN_CODE if os.path.lexists(path := os.path.join(git_folder, name))]


def inner_folders(git_folder: str) -> list[str]:
    """Git folders of submodules and linked worktrees inside of one."""
    worktrees = os.path.join(git_folder, "worktrees")
    found = [os.path.join(worktrees, name) for name in _names(worktrees)]
    waiting = [os.path.join(git_folder, "modules")]
    while waiting and len(found) < MAX_MODULES:
        folder = waiting.pop()
        for name in _names(folder):
            child = os.path.join(folder, name)
            if os.path.islink(child) or not os.path.isdir(child):
                continue
            if os.path.lexists(os.path.join(child, "HEAD")):
                found.append(child)
                waiting.append(os.path.join(child, "modules"))
            else:
                waiting.append(child)  # a name with a slash
    return found


def named_in_config(repository: Repository) -> list[str]:
    """Existing files and folders of the work tree that the configuration names: hooks, filters, included files."""
    found: set[str] = set()
    for config in (os.path.join(repository.common, "config"), os.path.join(repository.folder, "config.worktree")):
        for key, value in _VALUE.findall(_text(config) or ""):
            if key.lower() in _NO_PROGRAMS:
                continue
            whole = key.lower() in ("path", "hookspath")
            base = os.path.dirname(config) if key.lower() == "path" else repository.top
            for word in value.replace('"', " ").lstrip("!").split():
                path = os.path.normpath(os.path.join(base, word))
                if path.startswith(repository.top + "/") and ("/" in word or whole):
                    found.update([path] if os.path.lexists(path) else [])
    return sorted(path for path in found if not path.startswith(os.path.join(repository.top, GIT)))


def inert(entry: str, known: frozenset[str]) -> bool:
    """Whether a new `.git` makes git run nothing: as `git init`, `git clone` and, in a repository whose git folder is
    in `known`, `git worktree add` leave it."""
    try:
        mode = os.lstat(entry).st_mode
    except OSError:
        return True
    if stat.S_ISREG(mode):
        found = repository_at(os.path.dirname(entry))
        return found is not None and any(
            found.common == each or found.folder.startswith(f"{each}/modules/") for each in known
        )
    return stat.S_ISDIR(mode) and inert_folder(entry)


def inert_folder(git_folder: str) -> bool:
    """Whether a git folder's configuration and hooks make git run nothing."""
    for folder in (git_folder, *inner_folders(git_folder)):
        if os.path.lexists(os.path.join(folder, "config.worktree")) or os.path.islink(folder):
            return False
        config = os.path.join(folder, "config")
        hooks = os.path.join(folder, "hooks")
        if os.path.lexists(config) and not _only_inert_keys(_text(config)):
            return False
        if os.path.islink(hooks) or any(not name.endswith(".sample") for name in _names(hooks)):
            return False
        if folder == git_folder and os.path.lexists(os.path.join(folder, "commondir")):
            return False
    return True


def inert_inner(folder: str, common: str) -> bool:
    """The same of a new git folder inside of another: a submodule's, or a linked worktree's."""
    if os.path.dirname(folder) != os.path.join(common, "worktrees"):
        return inert_folder(folder)
    shared = _line(os.path.join(folder, "commondir"))
    back = shared is not None and os.path.realpath(os.path.join(folder, shared)) == common
    return back and not os.path.lexists(os.path.join(folder, "config.worktree"))


def _only_inert_keys(text: str | None) -> bool:
    return text is not None and all(_INERT.fullmatch(key) for key in _keys(text))


def _keys(text: str) -> Iterator[str]:
    """Full names, in lower case, of what a configuration sets; what can't be read is a name that nothing allows."""
    section = ""
    for line in text.split("\n"):
        rest = line
        if (head := _SECTION.match(line)) is not None:
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
            rest = head[3]
        rest = rest.strip()
        if rest and rest[0] not in "#;":
            yield f"{section}.{rest.partition('=')[0].strip().lower()}"
            if rest.endswith("\\"):
                yield "?"


def _is_submodule(folder: str, top: str) -> bool:
    """Whether a git folder says that its work tree is `top`."""
    if not _is_git_folder(folder):
        return False
    for key, value in _VALUE.findall(_text(os.path.join(folder, "config")) or ""):
        if key.lower() == "worktree":
            return os.path.realpath(os.path.join(folder, value.strip('"'))) == os.path.realpath(top)
    return False


def _is_git_folder(folder: str) -> bool:
    """As git tells one (gitrepository-layout(5)), and the user's own."""
    parts = (os.path.join(folder, name) for name in ("objects", "refs"))
    return _is_own_folder(folder) and all(map(_is_folder, parts)) and os.path.lexists(os.path.join(folder, "HEAD"))


def _is_own_folder(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _line(path: str) -> str | None:
    text = _text(path)
    return text.strip() if text is not None else None


def _text(path: str) -> str | None:
    """A small regular file; None for everything else."""
    data = read_plain(path, MAX_READ_BYTES)
    return None if data is None else data.decode("utf-8", "surrogateescape")
