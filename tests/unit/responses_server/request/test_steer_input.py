"""Input of a steer: messages of the user, and the place of what is none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agent_core.errors import WireError
from agent_core.responses_server.request.steer_input import read_steer_input


def read(value: Any) -> list[Any]:
    return [msgspec.json.decode(raw) for raw in read_steer_input(msgspec.Raw(msgspec.json.encode(value)))]


def test_a_text_is_one_message() -> None:
    assert read("faster") == [{"type": "message", "role": "user", "content": "faster"}]


def test_messages_with_text_images_and_files() -> None:
    parts = [
        {"type": "input_text", "text": "x"},
        {"type": "input_image", "image_url": "https://e.com/a.png", "detail": "auto"},
        {"type": "input_file", "file_url": "https://e.com/a.pdf"},
    ]
    messages = [{"role": "user", "content": "one"}, {"type": "message", "role": "user", "content": parts}]
    assert read(messages) == messages


@pytest.mark.parametrize(
    ("value", "param"),
    [
        ([], "input"),
        (None, "input"),
        ("", "input[0].content"),
        ([{"role": "user", "content": []}], "input[0].content"),
        ([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}], "input[1]"),
        ([{"type": "function_call_output", "call_id": "c", "output": "x"}], "input[0]"),
        ([{"role": "user", "content": [{"type": "output_text", "text": "x"}]}], "input[0].content[0].type"),
        ([{"role": "user"}], "input[0].content"),
    ],
)
def test_what_is_none_names_its_place(value: Any, param: str) -> None:
    with pytest.raises(WireError) as caught:
        read(value)
    assert caught.value.param == param
