"""The tokenizer: the library's own tokens, beyond the library's own limits."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.rendering.tokenizer import SLICE_CHARS, Tokenizer

TOKENIZER = Tokenizer()

SAMPLES = ["", "hello world", "<|endoftext|>", "naïve 日本語 😀 \n\t  x", "def f(x):\n    return x + 1\n" * 20]

PUBLIC = """
import sys, json, warnings
warnings.simplefilter("ignore")
import bpe_openai
encoding = bpe_openai.get_encoding("o200k_base")
print(json.dumps([encoding.encode_ordinary(text) for text in json.loads(sys.argv[1])]))
"""


def test_equal_to_the_librarys_public_function() -> None:
    given_texts = json.dumps(SAMPLES)
    done = subprocess.run([sys.executable, "-c", PUBLIC, given_texts], capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == [TOKENIZER.encode(text) for text in SAMPLES]


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_every_text_has_tokens(text: str) -> None:
    tokens = TOKENIZER.encode(text)
    assert tokens == TOKENIZER.encode(text)
    assert bool(tokens) is bool(text)
    assert len(tokens) <= len(text.encode())


@pytest.mark.parametrize(
    "text", ["😀" * 60_000, "xy" * 600_000, "word " * 250_000], ids=["many tokens", "one word", "many characters"]
)
def test_long_texts_are_cut(text: str) -> None:
    pieces = [text[start : start + SLICE_CHARS] for start in range(0, len(text), SLICE_CHARS)]
    assert TOKENIZER.encode(text) == [token for piece in pieces for token in TOKENIZER.encode(piece)]


def test_loads_once_from_any_thread() -> None:
    tokenizer = Tokenizer()
    before = tokenizer.loaded
    encoders: list[object] = []
    threads = [threading.Thread(target=lambda: encoders.append(tokenizer.load())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (before, tokenizer.loaded) == (False, True)
    assert len(encoders) == 4
    assert len(set(map(id, encoders))) == 1
