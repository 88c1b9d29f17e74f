"""What is read at once is bounded, and what is read bit by bit lets others in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from agent_core.errors import WireError
from agent_core.responses_server.request.validation import Validator
from agent_core.responses_server.slices import BYTES_PER_SLICE, at_once
from agent_core.wire.bounds import MAX_ITEM_BYTES, MAX_ITEMS, MAX_TEXT
from agent_core.wire.requests import ResponseCreate, count_items, read_create_body, split_in_slices

TOO_LARGE: dict[str, Callable[[], dict[str, Any]]] = {
    "input": lambda: {"input": "a" * MAX_ITEM_BYTES},
    "input[1]": lambda: {"input": [{"role": "user", "content": text} for text in ("a", "a" * MAX_ITEM_BYTES)]},
    "instructions": lambda: {"input": "go", "instructions": "a" * (MAX_TEXT + 1)},
}


@pytest.mark.rule("work.bounded")
@pytest.mark.parametrize("param", TOO_LARGE)
def test_what_is_too_large_to_be_read_at_once_is_refused(param: str) -> None:
    body = json.dumps(TOO_LARGE[param]())
    with pytest.raises(WireError) as told:
        at_once(Validator().read(read_create_body(body)))
    assert told.value.param == param


@pytest.mark.rule("work.bounded")
def test_items_that_are_large_are_read_one_by_one() -> None:
    items = [{"role": "user", "content": "a" * BYTES_PER_SLICE} for _ in range(10)]
    create = read_create_body(json.dumps({"input": items}))
    assert sum(1 for _ in Validator().read(create)) >= 10


def _input(create: ResponseCreate) -> Raw:
    assert isinstance(create.input, Raw)
    return create.input


@pytest.mark.rule("work.bounded")
def test_items_are_counted_before_they_are_made() -> None:
    """As many commas within texts are none between items, whatever quotes and backslashes are around them."""
    text = ',"[{\\"},' * 1_000
    items = [{"role": "user", "content": text + "\\" * (number % 3)} for number in range(200)]
    create = read_create_body(json.dumps({"input": items}))
    given = at_once(Validator().read(create))
    assert [json.loads(bytes(raw)) for raw in given.raws] == items
    for many in ("[]", '""', '{"a":[1,2]}', "1"):
        create = read_create_body(f'{{"input":[{",".join([many] * (MAX_ITEMS * 20 + 1))}]}}')
        with pytest.raises(WireError, match="more than 50000 items"):
            at_once(split_in_slices(_input(create)))
    deep = read_create_body(f'{{"input":[{{"a":[{",".join(["{}"] * 2_000_000)}]}}]}}')
    turns = 0
    with pytest.raises(WireError, match="too many values"):
        for _ in count_items(_input(deep)):
            turns += 1
    assert turns > 100, "others had their turn meanwhile"
