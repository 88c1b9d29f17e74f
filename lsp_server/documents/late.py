"""Edits that an editor said it made and has not shown yet: what is left to do once they come.

Such an edit is in the text from its `didChange` on, however late, and is then finished like any other: the file is
saved by our plugin, or written by us where nothing else was unsaved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from lsp_server.documents import merge
from lsp_server.documents.documents import Document, Documents, Splice

LONGEST_S: Final = 1800.0
"""An edit that has not come by then is not looked for any more; each key stroke is compared with it."""


class LateEdits:
    """Owns what is waited for, one edit a document. `finish` is called with the document whose edit came."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._stops: dict[str, Callable[[], None]] = {}

    def expect(self, document: Document, base: str, content: str, finish: Callable[[], object]) -> None:
        """`finish` is called once, when the document holds what leads from `base` to `content`."""
        self.forget(document)
        hunks = merge.hunks(base, content)
        clock = asyncio.get_running_loop().time
        give_up_s = clock() + LONGEST_S

        def look(changed: Document, splices: list[Splice]) -> None:
            if changed is not document or changed.text == base:
                return
            came = merge.survives(hunks, base, content, changed.text)
            if came or clock() > give_up_s:
                self.forget(document)
            if came:
                finish()

        self._stops[document.uri] = self._documents.watch(look)

    def forget(self, document: Document) -> None:
        """Nothing is waited for any more: it was closed, or is edited anew."""
        stop = self._stops.pop(document.uri, None)
        if stop is not None:
            stop()
