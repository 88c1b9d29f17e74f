"""Grants, checkpoints, locks and keys after bad luck: what is damaged allows nothing, the rest is there."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.agent.approvals.grants import Grants
from agent_core.agent.checkpoints.store import NotCovered, Side, Step, Store
from agent_core.control.lock import Holder, SessionLock, read_holder
from agent_core.errors import StateError
from agent_core.keys import Keys

ROOM = 1 << 20


def _spoilt(data: bytes, seed: int) -> bytes:
    chance = random.Random(seed)
    at = chance.randrange(len(data))
    if seed % 2:
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
    return data[:at] + chance.choice((b"\0" * 200, chance.randbytes(200), b"")) + data[at + 200 :]


def grants_hurt(folder: Path, seed: int) -> None:
    path = folder / f"{seed}.grants"
    grants = Grants(path)
    for number in range(12):
        grants.add("/w", "shell", f"pytest tests/test_{number}.py")
    whole = path.read_bytes()
    spoilt = _spoilt(whole, seed)
    path.write_bytes(spoilt)
    held = Grants(path)._held
    assert held <= grants._held, f"{seed}: damage allows nothing new"
    same = sum(bool(line) and line in whole.split(b"\n") for line in spoilt.split(b"\n")[:-1])
    assert len(held) >= same, seed


def checkpoints_hurt(folder: Path, seed: int) -> None:
    name = f"sess_{seed}"
    store = Store(folder, name, ROOM)
    for n in range(8):
        data = b"content %d\n" % n * 40
        store.put(f"digest{n}", data)
        side = Side(f"digest{n}", 0o644, True)
        store.add(Step(n=n, turn=f"turn_{n // 2}", root="/w", path=f"a{n}.py", before=None, after=side))
    steps, wanted = list(store.records), {f"digest{n}": b"content %d\n" % n * 40 for n in range(8)}
    store.close()
    hurt = folder / f"{name}.{'log' if seed % 3 else 'pack'}"
    hurt.write_bytes(_spoilt(hurt.read_bytes(), seed))
    again = Store(folder, name, ROOM)
    found = [record for record in again.records if isinstance(record, Step)]
    assert all(step in steps for step in found), f"{seed}: nothing is made up"
    for digest, data in wanted.items():
        assert again.get(digest) in (data, None), f"{seed}: never another content"
    if hurt.suffix == ".log" and len(found) < 7:
        gaps = [record for record in again.records if isinstance(record, NotCovered)]
        assert gaps or not found, f"{seed}: lost without a word"
    again.close()


def test_damaged_grants_and_checkpoints(tmp_path: Path) -> None:
    for seed in range(40):
        grants_hurt(tmp_path, seed)
        checkpoints_hurt(tmp_path, seed)


@pytest.mark.soak
def test_grants_and_checkpoints_damaged_at_500_places(tmp_path: Path) -> None:
    for seed in range(40, 540):
        grants_hurt(tmp_path, seed)
        checkpoints_hurt(tmp_path, seed)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "blank": lambda data: b"",
    "NUL": lambda data: b"\0" * len(data),
    "no UTF-8": lambda data: b'{"service":"\xff\xfe"}',
    "shortened": lambda data: data[: len(data) // 2],
    "a list": lambda data: b"[1]",
    "deep": lambda data: b"[" * 100_000,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_keys_file_is_named_and_left_as_it_is(tmp_path: Path, kind: str) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "LOOPLINE_KEYRING": "off"}
    keys = Keys(env)
    keys.set("service", "secret")
    path = keys._file
    spoilt = DAMAGE[kind](path.read_bytes())
    path.write_bytes(spoilt)
    with pytest.raises(StateError, match=path.name) as caught:
        Keys(env).get("service", "https://h")
    assert caught.value.hint
    with pytest.raises(StateError, match=path.name):
        Keys(env).set("hub", "other")
    assert path.read_bytes() == spoilt


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_lock_is_taken_over(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "sess_1.lock"
    path.write_bytes(DAMAGE[kind](b'{"pid":1,"since":""}'))
    assert read_holder(path) is None
    lock = SessionLock(path, Holder(pid=7, since="now"))
    path.write_bytes(DAMAGE[kind](b'{"pid":1,"since":""}'))
    assert read_holder(path) is None
    lock.release()
