"""Items to tokens, each item once: the chat template, and the rendered header of instructions and tools.

The template is applied per item and tokenised per item, so the tokens of a conversation are the header's tokens
followed by those of its items, whether they were rendered one call at a time or all at once. Headers are kept by
digest: clients re-send instructions and tools unchanged with every call. So are the items' texts, for the whole process
(`token_cache`): a client that sends its whole history each time, as over stateless HTTP, sends the same ones again.
That saves work and changes no figure: `cached_tokens` counts what a chain reused.
"""

from __future__ import annotations

import asyncio
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

import msgspec

from agent_core.responses_server.conversation.context import TOKEN_TYPE
from agent_core.responses_server.rendering.token_cache import TokenCache
from agent_core.responses_server.rendering.tokenizer import Tokenizer, pieces
from agent_core.responses_server.request.toolset import ToolSet
from agent_core.responses_server.slices import Slices, at_once
from agent_core.wire.items import AnyItem, CustomToolCall, FunctionCall, Message, item_type, text_of

T = TypeVar("T")

INLINE_CHARS = 16_000
"""Texts up to this length together (about a millisecond) are tokenised on the event loop, more on the rendering
thread.
"""
INLINE_ITEMS, ITEM_CHARS = 64, 200
"""More items than these are worked on like long texts; what an item costs besides its text, in characters."""

HEADERS_KEPT = 64
KEPT_CHARS, KEPT_TOKENS = 200, 4_000_000
"""Texts from this length on are kept by digest, together up to so many tokens (16 MB, and as much again for keys)."""


class Header(msgspec.Struct, frozen=True):
    """Rendered instructions and tools. Equal digests mean equal tokens."""

    digest: bytes
    tokens: array[int]


class Rendered(msgspec.Struct, frozen=True):
    """Tokens of some items in order. `text_tokens`: per item, how many of them are its text and not the template."""

    tokens: array[int]
    text_tokens: list[int]


def header_text(instructions: str | None, tools: bytes) -> str:
    """`tools`: the definitions as one JSON array, b"" for none."""
    parts = []
    if instructions:
        parts.append(f"<|system|>\n{instructions}\n<|end|>\n")
    if tools:
        parts.append(f"<|tools|>\n{tools.decode('utf-8', 'replace')}\n<|end|>\n")
    return "".join(parts)


def item_title(item: AnyItem) -> str:
    """Who speaks, or what kind of item it is."""
    if isinstance(item, Message):
        return item.role
    if isinstance(item, FunctionCall | CustomToolCall):
        return f"{item_type(item)} {item.name}"
    return item_type(item) or "item"


class Renderer:
    """Owns the rendering thread and both caches. `rendered_items` counts items that were rendered.

    Long work is done in slices, each by itself on the thread: those of several lanes take turns. `keep` False keeps no
    headers, `keep_texts` False no texts (to measure what that gives).
    """

    def __init__(self, tokenizer: Tokenizer, *, keep: bool = True, keep_texts: bool = True) -> None:
        self._tokenizer, self._keep = tokenizer, keep
        self._texts = TokenCache(KEPT_TOKENS) if keep_texts else None
        self._headers: OrderedDict[bytes, Header] = OrderedDict()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="render")
        self._encode_template = lru_cache(maxsize=256)(tokenizer.encode)
        self.rendered_items = 0

    @property
    def kept_texts(self) -> TokenCache | None:
        """Tokens of texts that were rendered lately, None if none are kept."""
        return self._texts

    async def load(self) -> None:
        """Load the tokenizer off the event loop."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._tokenizer.load)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def header(self, instructions: str | None, tools: ToolSet) -> Header:
        """The rendered header, from the cache if these instructions and tools were seen before."""
        digest = blake2b((instructions or "").encode(), digest_size=16, key=tools.text_digest).digest()
        header = self._headers.get(digest)
        if header is not None:
            self._headers.move_to_end(digest)
            return header
        text = header_text(instructions, tools.canonical)
        header = Header(digest, await self._work(len(text), self._tokens(text)))
        if self._keep:
            self._headers[digest] = header
            if len(self._headers) > HEADERS_KEPT:
                self._headers.popitem(last=False)
        return header

    async def items(self, items: Sequence[AnyItem]) -> Rendered:
        """The tokens of these items."""
        self.rendered_items += len(items)
        if len(items) > INLINE_ITEMS:
            much = ((item_title(item), text_of(item)) for item in items)
            return await self._work(INLINE_CHARS + 1, self._render(much))
        pairs = [(item_title(item), text_of(item)) for item in items]
        return await self._work(sum(len(text) for _, text in pairs), self._render(pairs))

    async def count(self, text: str) -> int:
        """Tokens of a text by itself."""
        return len(await self._work(len(text), self._tokens(text)))

    def _render(self, pairs: Iterable[tuple[str, str]]) -> Slices[Rendered]:
        tokens = array(TOKEN_TYPE)
        counts: list[int] = []
        left = INLINE_CHARS
        for title, text in pairs:
            left -= len(text) + ITEM_CHARS
            tokens.extend(self._encode_template(f"<|{title}|>\n"))
            inner = yield from self._text(text)
            tokens.extend(inner)
            tokens.extend(self._encode_template("\n<|end|>\n"))
            counts.append(len(inner))
            if left <= 0:
                yield
                left = INLINE_CHARS
        return Rendered(tokens, counts)

    def _text(self, text: str) -> Slices[Sequence[int]]:
        """The tokens of an item's text, kept unless it is short."""
        if self._texts is None or len(text) < KEPT_CHARS:
            return (yield from self._tokens(text))
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._texts.get(digest)
        if known is not None:
            return known
        made = yield from self._tokens(text)
        self._texts.put(digest, made)
        return made

    def _tokens(self, text: str) -> Slices[array[int]]:
        tokens = array(TOKEN_TYPE)
        for number, piece in enumerate(pieces(text)):
            if number:
                yield
            tokens.extend(self._tokenizer.encode(piece))
        return tokens

    async def _work(self, chars: int, work: Slices[T]) -> T:
        """The result of some work on `chars` characters: at once if they are few, else slice by slice on the thread."""
        if self._tokenizer.loaded and chars <= INLINE_CHARS:
            return at_once(work)
        loop = asyncio.get_running_loop()
        while True:
            done = await loop.run_in_executor(self._thread, _step, work)
            if done is not None:
                return done.result


class _Done(NamedTuple, Generic[T]):
    result: T


def _step(work: Slices[T]) -> _Done[T] | None:
    """The next slice; with its result if that was the last."""
    try:
        next(work)
    except StopIteration as end:
        return _Done(end.value)
    return None
