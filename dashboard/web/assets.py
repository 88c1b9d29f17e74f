"""The files that pages load: read once, served under a name that changes with their content."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Asset(msgspec.Struct, frozen=True):
    body: bytes
    content_type: str


class Assets:
    """All files under a folder whose kind pages load; licences and lists stay out."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): Asset(path.read_bytes(), _TYPES[path.suffix])
            for path in sorted(folder.rglob("*"))
            if path.suffix in _TYPES
        }
        digest = sha256()
        for name, asset in self._files.items():
            digest.update(name.encode() + b"\0" + asset.body)
        self.stamp = digest.hexdigest()[:12]
        """One for all: scripts import each other by relative name."""

    def find(self, stamp: str, name: str) -> Asset | None:
        """The file, None unless it is asked for by the present stamp."""
        return self._files.get(name) if stamp == self.stamp else None

    def url(self, name: str) -> str:
        """Raises KeyError for a file that is not there, so that a page never asks for one."""
        if name not in self._files:
            raise KeyError(name)
        return f"/static/{self.stamp}/{name}"
