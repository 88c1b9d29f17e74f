"""Refuses media that no engine could use: data URLs that are malformed, of a kind that is not media, or too large."""

from __future__ import annotations

import re
from typing import Any

from agent_core.responses_server.screening.port import ALLOWED, Action, ItemClassifier, Verdict
from agent_core.responses_server.slices import Slices
from agent_core.wire.items import CustomToolCallOutput, FunctionCallOutput, InputFile, InputImage, Message, read_parts

SLICE_CHARS = 500_000
"""Characters of a part that are checked at once; about half a millisecond."""
_TAIL_CHARS = 64
"""Where the padding of a part and white space behind it are looked for."""

MAX_MEDIA_BYTES = 20 * 1024 * 1024
"""Largest decoded image or file within one content part."""

CODE = "invalid_media"

_DATA_URL = re.compile(r"data:([a-z0-9.+-]+/[a-z0-9.+-]+)(;[a-z0-9-]+=[^;,]*)*;base64,", re.IGNORECASE)
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


class MediaScreen(ItemClassifier):
    """Each part is judged by itself."""

    name = "media"

    def __init__(self, max_bytes: int = MAX_MEDIA_BYTES) -> None:
        self._max_bytes = max_bytes

    def judge(self, item: Any) -> Slices[Verdict]:
        for url in _urls(item):
            if url[:5].lower() != "data:":
                continue
            reason = yield from self._judge_data_url(url)
            if reason is not None:
                return Verdict(Action.BLOCK, CODE, f"The input holds media that can't be used: {reason}.")
        return ALLOWED

    def _judge_data_url(self, url: str) -> Slices[str | None]:
        head = _DATA_URL.match(url[:256])
        if head is None:
            return "a data URL without a media type and base64 data"
        size = (len(url) - head.end()) * 3 // 4
        if size == 0:
            return "an empty data URL"
        if size > self._max_bytes:
            return f"a part of {size} bytes, the limit is {self._max_bytes}"
        if not (yield from _is_base64(url, head.end())):
            return "a data URL whose data is not base64"
        return None


def _is_base64(text: str, start: int) -> Slices[bool]:
    """Alphabet and length of what follows `start`, by passes in C: a part may be megabytes."""
    end = len(text)
    tail = text[max(start, end - _TAIL_CHARS) :]
    digits = tail.rstrip().rstrip("=")
    if len(tail.rstrip()) - len(digits) > 2:
        return False
    end -= len(tail) - len(digits)
    for at in range(start, end, SLICE_CHARS):
        piece = text[at : min(end, at + SLICE_CHARS)]
        if not piece.isascii() or piece.encode().translate(None, _ALPHABET):
            return False
        yield
    return (end - start) % 4 != 1


def _urls(item: Any) -> list[str]:
    if isinstance(item, Message):
        content = item.content
    elif isinstance(item, FunctionCallOutput | CustomToolCallOutput):
        content = item.output
    else:
        return []
    if isinstance(content, str):
        return []
    urls: list[str] = []
    for part in read_parts(content):
        if isinstance(part, InputImage) and part.image_url is not None:
            urls.append(part.image_url)
        elif isinstance(part, InputFile) and part.file_data is not None:
            urls.append(part.file_data)
    return urls
