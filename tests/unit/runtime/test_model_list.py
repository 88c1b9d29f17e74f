"""The lists of models of servers as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.runtime.model_list import read_models

ROW = {"id": "m", "object": "model", "created": 1, "owned_by": "x"}

LISTS: dict[str, tuple[Any, list[str]]] = {
    "OpenAI, vLLM, SGLang, LM Studio": ({"object": "list", "data": [ROW]}, ["m"]),
    "without object": ({"data": [{"id": "m"}]}, ["m"]),
    "a bare array, as Together has it": ([ROW, {"id": "n"}], ["m", "n"]),
    "names alone": (["m", "n"], ["m", "n"]),
    "data of names": ({"data": ["m"]}, ["m"]),
    "Ollama's own": ({"models": [{"name": "m:latest", "model": "m:latest", "size": 1}]}, ["m:latest"]),
    "LM Studio's own": ({"models": [{"type": "llm", "key": "org/m", "display_name": "M"}]}, ["org/m"]),
    "llama.cpp: both": ({"models": [{"name": "m", "model": "m"}], "object": "list", "data": [ROW]}, ["m"]),
    "an empty data beside models": ({"data": [], "models": [{"name": "m"}]}, ["m"]),
    "data null beside models": ({"data": None, "models": ["m"]}, ["m"]),
    "name only": ({"data": [{"name": "m"}]}, ["m"]),
    "id null beside a name": ({"data": [{"id": None, "name": "m"}]}, ["m"]),
    "an empty id beside a name": ({"data": [{"id": "", "name": "m"}]}, ["m"]),
    "model only": ({"data": [{"model": "m"}]}, ["m"]),
    "slug only": ({"models": [{"slug": "m"}]}, ["m"]),
    "id a number": ({"data": [{"id": 7}]}, ["7"]),
    "nested": ({"data": {"models": [ROW]}}, ["m"]),
    "nested in a result": ({"success": True, "result": {"data": [ROW]}}, ["m"]),
    "a table by name": ({"data": {"m": {"object": "model"}, "n": {}}}, ["m", "n"]),
    "the same twice": ({"data": [ROW, ROW, {"id": "n"}]}, ["m", "n"]),
    "rows that are none": ({"data": [None, 4, [], {}, {"object": "model"}, {"id": True}, ROW]}, ["m"]),
    "an id with blanks and signs": ({"data": [{"id": "a b/\u00fc:1"}]}, ["a b/\u00fc:1"]),
    "half a character": ({"data": [{"id": "m\ud83d"}]}, ["m\ufffd"]),
    "empty": ({"object": "list", "data": []}, []),
    "an empty array": ([], []),
    "huge": (
        {"data": [{"id": f"m{i}", "description": "x" * 999} for i in range(5000)]},
        [f"m{i}" for i in range(5000)],
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_what_servers_list(name: str) -> None:
    given_, wanted = LISTS[name]
    assert [entry.id for entry in read_models(json.dumps(given_).encode())] == wanted


BYTES = {
    "a byte that is no UTF-8": (b'{"data":[{"id":"m","owned_by":"caf\xe9"},{"id":"n"}]}', ["m", "n"]),
    "in the id itself": (b'{"data":[{"id":"m\xe9"}]}', ["m\ufffd"]),
    "a byte order mark": (b'\xef\xbb\xbf{"data":[{"id":"m"}]}', ["m"]),
    "NaN, control characters": (b'{"data":[{"id":"m","cost":NaN,"text":"a\tb"}]}', ["m"]),
    "blank lines around": (b'\r\n\n{"data":[{"id":"m"}]}\n\n', ["m"]),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes_as_they_come(name: str) -> None:
    data, wanted = BYTES[name]
    assert [entry.id for entry in read_models(data)] == wanted


NONE = [
    b"",
    b"<html>",
    b"null",
    b"4",
    b'"m"',
    b"{}",
    b'{"error":{"message":"x"}}',
    b'{"data":4}',
    b'{"data":[{"id"',
    b"[" * 9999,
]


@pytest.mark.parametrize("data", NONE, ids=range(len(NONE)))
def test_what_is_no_list(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_models(data)


@pytest.mark.parametrize(
    ("stated", "wanted"),
    [
        ({"tools": True, "chat": True, "repair": False}, {"tools": True, "chat": True, "repair": False}),
        ({"tools": 1, "chat": "yes"}, {"tools": False, "chat": False}),
        (["completion", "tools"], None),
        ({"completion_chat": True, "function_calling": True, "vision": False}, None),
        ({"vision": True, "trained_for_tool_use": True}, None),
        (None, None),
        ("chat", None),
    ],
)
def test_only_our_words_say_what_a_model_can(stated: Any, wanted: dict[str, bool] | None) -> None:
    (entry,) = read_models(json.dumps({"data": [{"id": "m", "capabilities": stated}]}).encode())
    assert entry.capabilities == wanted


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["data", "models", "result", "id", "name", "capabilities"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_any_json_is_a_list_or_none(value: Any) -> None:
    try:
        found = read_models(json.dumps(value).encode())
    except ValueError:
        return
    assert all(entry.id for entry in found)
    assert len({entry.id for entry in found}) == len(found)
