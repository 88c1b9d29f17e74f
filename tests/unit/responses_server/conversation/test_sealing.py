"""Sealed texts: back as they were for their owner, else None; nothing is unpacked before it is known to be ours."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.responses_server.conversation.sealing import MAX_BYTES, STEP_BYTES, Kind, Sealer
from agent_core.responses_server.slices import at_once
from agent_core.responses_server.store.port import kept_secret

SEALER = Sealer(b"s" * 32)
SEAL = SEALER.of("anna")

_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def unsealed(kind: Kind, text: str, shape: Any = Any, *, owner: str = "anna", secret: bytes = b"s" * 32) -> Any:
    found = Sealer(secret).of(owner).check(kind, text)
    return None if found is None else at_once(found.unpack(shape))


@settings(max_examples=50, deadline=None)
@given(_values)
def test_what_is_sealed_comes_back(value: Any) -> None:
    assert unsealed("compaction", SEAL.seal("compaction", value)) == value


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=40), st.integers(0, 200), st.characters())
def test_nothing_else_is_taken(text: str, at: int, char: str) -> None:
    """Neither other texts nor damaged ones; never an exception."""
    assert unsealed("reasoning", text) is None
    assert unsealed("reasoning", "llr2." + text) is None
    sealed = SEAL.seal("reasoning", "the whole of it")
    at = 5 + at % (len(sealed) - 5)
    damaged = sealed[:at] + char + sealed[at + 1 :]
    assert unsealed("reasoning", damaged) in (None, "the whole of it")
    assert unsealed("reasoning", sealed[:at]) is None


def _bits(text: str, flip: int | None = None) -> bytes:
    raw = bytearray(base64.urlsafe_b64decode(text[5:]))
    if flip is not None:
        raw[flip // 8 % len(raw)] ^= 1 << flip % 8
    return bytes(raw)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10_000))
def test_one_bit_changed_anywhere_is_noticed(flip: int) -> None:
    sealed = SEAL.seal("reasoning", "the whole of it")
    changed = "llr2." + base64.urlsafe_b64encode(_bits(sealed, flip)).decode()
    assert unsealed("reasoning", changed) is None


@pytest.mark.parametrize(
    "other",
    [{"owner": "berta"}, {"owner": ""}, {"owner": "anna\0"}, {"secret": b"t" * 32}],
    ids=["other key", "no key", "a key that begins alike", "other service"],
)
def test_only_the_owner_at_the_same_service_can_open(other: dict[str, Any]) -> None:
    assert unsealed("reasoning", SEAL.seal("reasoning", "mine"), **other) is None


def test_it_can_not_be_read_and_never_looks_the_same() -> None:
    first, second = SEAL.seal("reasoning", "secret words"), SEAL.seal("reasoning", "secret words")
    assert first != second
    with pytest.raises((binascii.Error, msgspec.DecodeError, ValueError)):
        msgspec.json.decode(_bits(first))
    assert b"secret" not in _bits(first)


def test_kinds_and_shapes_are_kept_apart() -> None:
    assert unsealed("compaction", SEAL.seal("reasoning", "x")) is None
    assert unsealed("compaction", "llc2." + SEAL.seal("reasoning", "x")[5:]) is None
    assert unsealed("reasoning", SEAL.seal("reasoning", {"a": 1}), str) is None


def test_what_is_too_large_is_not_sealed_and_the_size_is_known_before_it_is_unpacked() -> None:
    with pytest.raises(ValueError, match="bytes"):
        SEAL.seal("reasoning", "x" * (MAX_BYTES + 1))
    found = SEAL.check("reasoning", SEAL.seal("reasoning", "x" * 5_000_000))
    assert found is not None
    assert found.size == 5_000_002
    assert len(found.packed) < 100_000
    steps = sum(1 for _ in found.unpack(str))
    assert steps >= 5_000_000 // STEP_BYTES


def test_a_secret_is_kept_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret"
    first = kept_secret(path)
    assert kept_secret(path) == first
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"damaged")
    mended = kept_secret(path)
    assert mended not in (first, b"damaged")
    assert kept_secret(path) == mended
    assert [each.name for each in path.parent.iterdir()] == ["secret"]
