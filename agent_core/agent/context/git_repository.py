"""A repository of git as data: where its git directory is, what HEAD names, which branch that is compared with.

Read from files alone (gitrepository-layout(5), git-config(1)); nothing of it is run or obeyed. Of its configuration
only `KEPT` counts, facts about how files were checked out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from agent_core.errors import FileRefused
from agent_core.untrusted_files import read, read_start

MAX_CONFIG_BYTES = 256 << 10
MAX_PACKED_REFS_BYTES = 32 << 20
MAX_REF_BYTES = 4_096
MAX_HOPS = 5

KEPT: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(
        ("core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.trustctime"),
        re.compile(r"true|false|yes|no|on|off|1|0"),
    ),
    "core.checkstat": re.compile(r"default|minimal"),
    "core.autocrlf": re.compile(r"true|false|input"),
    "core.eol": re.compile(r"lf|crlf|native"),
    "extensions.objectformat": re.compile(r"sha1|sha256"),
}
"""Keys of a repository's own configuration that are facts about its files, and the values that they may have."""

_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_REF = re.compile(r"refs/(?:[^\x00-\x20\x7f~^:?*\[\\/]+/)*[^\x00-\x20\x7f~^:?*\[\\/]+\Z")
_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)')
_ENTRY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """`top` is the work tree, `folder` the git directory, `common` the one with objects and branches; they differ in a
    linked work tree. `branch` "" for a detached head; `head` and `upstream` are object names, "" where there is none.
    `facts` are those of `KEPT`. `unread` says why nothing more than `top` is known; "" where more is."""

    top: Path
    folder: Path
    common: Path
    branch: str = ""
    head: str = ""
    upstream: str = ""
    facts: Mapping[str, str] = msgspec.field(default_factory=dict)
    unread: str = ""


def find_repository(folder: Path) -> Repository | None:
    """The repository that a folder is in, None for none. Never raises for what is in there."""
    top = next((each for each in (folder, *folder.parents) if os.path.lexists(each / ".git")), None)
    if top is None:
        return None
    git_dir = _git_dir(top)
    if git_dir is None:
        return Repository(top=top, folder=top, common=top, unread="its git directory lies elsewhere")
    common = _common_dir(git_dir)
    if os.path.lexists(common / "reftable"):
        return Repository(top=top, folder=git_dir, common=common, unread="its branches are in tables")
    config = _config(common)
    ref = _head_ref(git_dir)
    branch = ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ""
    return Repository(
        top=top,
        folder=git_dir,
        common=common,
        branch=branch,
        head=_object(git_dir, common, ref) if ref else _text(git_dir, "HEAD", _OBJECT),
        upstream=_object(git_dir, common, _upstream_ref(config, branch)),
        facts={key: config[key] for key, form in KEPT.items() if form.fullmatch(config.get(key, ""))},
    )


def _git_dir(top: Path) -> Path | None:
    """The git directory of a work tree. Where `.git` only names it, it must be a linked work tree's, which names the
    work tree in turn, or a submodule's, inside that of the repository around; a link to anywhere is not followed."""
    own = top / ".git"
    if own.is_dir() and not own.is_symlink():
        return own
    text = read_start(top, ".git", MAX_REF_BYTES) or b""
    if not text.startswith(b"gitdir:"):
        return None
    named = Path(os.path.realpath(top / os.fsdecode(text.removeprefix(b"gitdir:").strip().split(b"\0")[0])))
    back = (read_start(named, "gitdir", MAX_REF_BYTES) or b"").strip().split(b"\0")[0]
    if back and os.path.realpath(named / os.fsdecode(back)) == os.path.realpath(own):
        return named
    around = (_git_dir(parent) for parent in top.parents if os.path.lexists(parent / ".git"))
    outer = next(around, None)
    return named if outer is not None and named.is_relative_to(os.path.realpath(_common_dir(outer))) else None


def _common_dir(git_dir: Path) -> Path:
    named = (read_start(git_dir, "commondir", MAX_REF_BYTES) or b"").strip().split(b"\0")[0]
    if not named:
        return git_dir
    common = Path(os.path.realpath(git_dir / os.fsdecode(named)))
    # Only of a linked work tree: `<common>/worktrees/<name>`.
    return common if Path(os.path.realpath(git_dir)).parent == common / "worktrees" else git_dir


def _head_ref(git_dir: Path) -> str:
    text = _line(git_dir, "HEAD")
    ref = text.removeprefix("ref:").strip() if text.startswith("ref:") else ""
    return ref if _REF.match(ref) and not _climbs(ref) else ""


def _object(git_dir: Path, common: Path, ref: str) -> str:
    """What a reference points to, "" for nothing."""
    for _ in range(MAX_HOPS):
        if not ref or not _REF.match(ref) or _climbs(ref):
            return ""
        text = _line(common, ref) or _line(git_dir, ref)
        if not text.startswith("ref:"):
            return text if _OBJECT.match(text) else _packed(common, ref)
        ref = text.removeprefix("ref:").strip()
    return ""


def _packed(common: Path, ref: str) -> str:
    try:
        data = read(common, "packed-refs", MAX_PACKED_REFS_BYTES)
    except FileRefused:
        return ""
    found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(os.fsencode(ref)) + rb"\r?$", data, re.MULTILINE)
    name = found[1].decode() if found else ""
    return name if _OBJECT.match(name) else ""


def _upstream_ref(config: Mapping[str, str], branch: str) -> str:
    """The reference that a branch is compared with, by git's usual layout of remotes."""
    remote, merge = config.get(f"branch.{branch}.remote", ""), config.get(f"branch.{branch}.merge", "")
    if not branch or not remote or not merge.startswith("refs/heads/"):
        return ""
    return merge if remote == "." else f"refs/remotes/{remote}/{merge.removeprefix('refs/heads/')}"


def _config(common: Path) -> dict[str, str]:
    """The last value of each key of a repository's own file, as `section.key` or `section.subsection.key`. What it
    includes is left out."""
    data = read_start(common, "config", MAX_CONFIG_BYTES) or b""
    return dict(_entries(data.decode("utf-8", "surrogateescape")))


def _entries(text: str) -> Iterator[tuple[str, str]]:
    section = ""
    for line in text.replace("\\\n", "").split("\n"):
        head = _SECTION.match(line)
        if head is not None:
            inner = head[2]
            section = head[1].lower() + ("" if inner is None else "." + re.sub(r"\\(.)", r"\1", inner))
            line = head[3]
        entry = _ENTRY.match(line)
        if entry is not None and section:
            value = entry[2] if entry[2] is not None else "true"
            yield f"{section}.{entry[1].lower()}", re.split(r"\s*[#;]", value, maxsplit=1)[0].strip().strip('"')


def _line(folder: Path, name: str) -> str:
    return (read_start(folder, name, MAX_REF_BYTES) or b"").decode("utf-8", "surrogateescape").strip()


def _text(folder: Path, name: str, form: re.Pattern[str]) -> str:
    text = _line(folder, name)
    return text if form.match(text) else ""


def _climbs(ref: str) -> bool:
    return any(part.startswith(".") for part in ref.split("/"))
