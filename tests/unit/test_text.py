"""Text that is no valid Unicode: the one rule, at its borders."""

from __future__ import annotations

import json
import os

import pytest

from agent_core.text import Joiner, is_sound, kept_name, real_name, sound, sound_json, to_json


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("plain", "plain"),
        ("caf\udce9", "caf\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\ud83db", "a\ufffdb"),
        ("\u00e9", "\u00e9"),
    ],
)
def test_text_is_made_storable(given: str, kept: str) -> None:
    assert sound(given) == kept
    assert is_sound(given) is (given == kept)
    assert json.loads(to_json({given: [given]})) == {kept: [kept]}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (rb'"\ud83d\ude00"', "\U0001f600"),
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\\ud83d"', "\\ud83d"),
        (rb'"\\\ud83d"', "\\\ufffd"),
        (b'"caf\xe9"', "caf\ufffd"),
        (rb'"\ude00\ud83d"', "\ufffd\ufffd"),
    ],
)
def test_json_is_made_storable(given: bytes, kept: str) -> None:
    assert json.loads(sound_json(given)) == kept


def test_a_character_is_joined_across_pieces() -> None:
    joiner = Joiner()
    pieces = ["a\ud83d", "\ude00b", "\ud83d", "c", "\ud83d"]
    assert "".join(map(joiner.feed, pieces)) + joiner.finish() == "a\U0001f600b\ufffdc\ufffd"


@pytest.mark.parametrize("name", [b"caf\xe9.txt", b"\xff\xfe", "caf\u00e9".encode(), b"plain"])
def test_a_name_is_kept_without_loss(name: bytes) -> None:
    kept = kept_name(os.fsdecode(name))
    kept.encode()
    assert os.fsencode(real_name(kept)) == name
