"""The folders that tools may touch, and which paths belong to them: links resolved, confined to the roots.

A path is shown relative to the first root; below another root it begins with that root's name where that is clear.
"""

# Plain strings: resolving is on the way of each read.
# ruff: noqa: PTH112, PTH117, PTH118, PTH119

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agent_core.errors import ToolError

_UNSHOWABLE = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|^"')


class Location(msgspec.Struct, frozen=True):
    """A resolved path: `root` and `relative` ("" for the root itself) hold no links. People and models see `shown`."""

    root: str
    relative: str
    shown: str

    @property
    def path(self) -> Path:
        return Path(self.root, self.relative)

    @property
    def key(self) -> tuple[str, str]:
        """What tells one place from another, however it is shown."""
        return self.root, self.relative


class Roots:
    """`roots` are folders; the first is where commands run. Raises ToolError `no_such_root` if one is missing."""

    def __init__(self, roots: Sequence[Path | str]) -> None:
        self.roots: tuple[str, ...] = ()
        self.change_roots(roots)

    @property
    def root(self) -> Path:
        """The first root."""
        return Path(self.roots[0])

    def change_roots(self, roots: Sequence[Path | str]) -> None:
        """From now on only these count; files below a root that is gone can be neither read nor written."""
        if not roots:
            raise ToolError("a workspace needs at least one folder", code="no_such_root")
        self.roots = tuple(_real_directory(root) for root in roots)

    def resolve(self, given: str) -> Location:
        """Where `given` (relative to a root, or absolute inside one) really is. It need not exist.

        Raises ToolError `outside` for anything that leads out of the roots, also through links.
        """
        path = _unquoted(given)
        if "\0" in path:
            raise ToolError("a path can't hold a NUL character", code="bad_path")
        try:
            real = os.path.realpath(self._absolute(path))
        except OSError as error:
            raise ToolError(f"{given[:200]}: {os.strerror(error.errno or 0).lower()}", code="bad_path") from error
        for root in self.roots:
            if real == root:
                return Location(root, "", self.shown(root, ""))
            prefix = root if root.endswith("/") else root + "/"
            if real.startswith(prefix):
                relative = real[len(prefix) :]
                return Location(root, relative, self.shown(root, relative))
        raise ToolError(f"{given} is outside the workspace", code="outside")

    def top_of(self, at: Location) -> str:
        """What stands before paths of this root when they are shown: "" for the first root."""
        return "" if at.root == self.roots[0] else self._top(at.root)

    def _absolute(self, path: str) -> str:
        if os.path.isabs(path):
            return path
        first = os.path.join(self.roots[0], path)
        if len(self.roots) > 1 and not os.path.lexists(first):
            name, _, rest = path.partition("/")
            for root in self.roots[1:]:
                if os.path.basename(root) == name:
                    return os.path.join(root, rest)
            for root in self.roots[1:]:
                if os.path.lexists(os.path.join(root, path)):
                    return os.path.join(root, path)
        return first

    def shown(self, root: str, relative: str) -> str:
        if root == self.roots[0]:
            return shown_path(relative or ".")
        top = self._top(root)
        return shown_path(f"{top}/{relative}" if relative else top)

    def _top(self, root: str) -> str:
        name = os.path.basename(root)
        plain = not os.path.lexists(os.path.join(self.roots[0], name))
        unique = sum(os.path.basename(other) == name for other in self.roots) == 1
        return name if plain and unique else root


def shown_path(relative: str) -> str:
    """A path on one line: as it is, or as a JSON string if it holds control characters or bytes that are no text."""
    return json.dumps(relative) if _UNSHOWABLE.search(relative) else relative


def _unquoted(given: str) -> str:
    if len(given) >= 2 and given.startswith('"') and given.endswith('"'):
        try:
            decoded = json.loads(given)
        except ValueError:
            return given
        return decoded if isinstance(decoded, str) else given
    return given or "."


def _real_directory(root: Path | str) -> str:
    real = os.path.realpath(root)
    if not os.path.isdir(real):
        raise ToolError(f"{root}: no such folder", code="no_such_root")
    return real
