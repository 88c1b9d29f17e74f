"""What is stored is read in bounds: long chains a page at a time, chains and references up to so many bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agent_core.errors import ServiceError, WireError
from agent_core.responses_server.conversation.item_ids import input_id
from agent_core.responses_server.slices import at_once
from agent_core.responses_server.store import port, stored_items
from agent_core.responses_server.store.port import MemoryStore, ResponseStore, StoredResponse, read_chain
from agent_core.responses_server.store.sqlite import SqliteStore
from agent_core.responses_server.store.stored_items import References, input_page

PAGE = 7
LARGE = "x" * 1_000


def raw(**fields: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(fields))


def name(number: int) -> str:
    return f"resp_{number:024x}"


def chained(number: int, text: str = "go", items: int = 1) -> StoredResponse:
    output = raw(type="message", role="assistant", content=[], id=f"msg_{number:024x}o0")
    given = tuple(raw(role="user", content=f"{text} {number}.{at}") for at in range(items))
    parent = name(number - 1) if number else None
    return StoredResponse(id=name(number), parent=parent, created_at=0, input=given, output=(output,), response=b"{}")


@pytest.fixture(params=["memory", "sqlite", "pending"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ResponseStore]:
    made: ResponseStore = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "responses.db", 0)
    await made.open()
    for number in range(10):
        made.put(chained(number, LARGE))
    if request.param == "sqlite":
        await made.flush()
    yield made
    await made.close()


def all_of(chain: list[StoredResponse], *, newest_first: bool) -> tuple[list[str], int]:
    """The ids of all pages, and how many slices that took."""
    found: list[str] = []
    slices, more, after = 0, True, None
    while more:
        work = input_page(chain, limit=PAGE, newest_first=newest_first, after=after)
        while True:
            try:
                next(work)
                slices += 1
            except StopIteration as end:
                page, more = end.value
                break
        found += [item["id"] for item in page]
        after = found[-1]
    return found, slices


@pytest.mark.parametrize("newest_first", [True, False])
def test_pages_together_are_the_whole_chain(newest_first: bool) -> None:
    chain = [chained(number, items=3) for number in range(20)]
    expected: list[str] = []
    for number in range(20):
        expected += [input_id("message", name(number), at) for at in range(3)] + [f"msg_{number:024x}o0"]
    del expected[-1]  # the response itself is not what it was made from
    found, _ = all_of(chain, newest_first=newest_first)
    assert found == (expected[::-1] if newest_first else expected)


def test_a_long_chain_is_looked_through_in_slices() -> None:
    chain = [chained(number, items=500) for number in range(40)]
    last = input_id("message", name(39), 499)
    work = input_page(chain, limit=PAGE, newest_first=False, after=last)
    assert sum(1 for _ in work) > 40 * 500 // 64
    assert at_once(input_page(chain, limit=PAGE, newest_first=False, after=last)) == ([], False)
    with pytest.raises(WireError) as told:
        at_once(input_page(chain, limit=PAGE, newest_first=True, after="msg_none"))
    assert told.value.param == "after"


def test_a_page_of_large_items_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_items, "BYTES_PER_PAGE", 3 * len(LARGE))
    chain = [chained(number, LARGE) for number in range(9)]
    page, more = at_once(input_page(chain, limit=100, newest_first=False, after=None))
    assert more
    assert 0 < len(page) <= 6
    assert len(all_of(chain, newest_first=False)[0]) == 17


async def test_a_chain_that_is_too_large_is_not_read(store: ResponseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(await read_chain(store, name(9), "") or ()) == 10
    monkeypatch.setattr(port, "MAX_CHAIN_BYTES", 5 * len(LARGE))
    assert len(await read_chain(store, name(3), "") or ()) == 4
    with pytest.raises(ServiceError) as told:
        await read_chain(store, name(9), "")
    assert (told.value.code, told.value.status) == ("context_length_exceeded", 400)
    assert told.value.param == "previous_response_id"


class Counted(MemoryStore):
    gets = 0

    async def get(self, response_id: str) -> StoredResponse | None:
        self.gets += 1
        return await super().get(response_id)


async def found(references: References, number: int, position: int) -> Any:
    return await references.find(input_id("message", name(number), position), f"input[{position}].id")


async def test_references_read_each_response_once_and_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Counted()
    store.put(chained(0, LARGE, items=20))
    store.put(chained(1, LARGE, items=20))
    for position in range(20):
        assert await found(References(store, ""), 0, position)
    store.gets = 0
    references = References(store, "")
    assert all([await found(references, 0, position) for position in range(20)])
    assert store.gets == 1
    monkeypatch.setattr(stored_items, "MAX_REFERRED_BYTES", 30 * len(LARGE))
    references = References(store, "")
    assert await found(references, 0, 3)
    with pytest.raises(WireError) as told:
        await found(references, 1, 4)
    assert told.value.param == "input[4].id"
    references = References(store, "")
    with pytest.raises(WireError):
        for _ in range(20):
            await found(references, 0, 0)
