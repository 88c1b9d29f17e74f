"""`encrypted_content` as an outsider meets it: forged, changed, cut, of another key or another service."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.responses_server.settings import ApiKey
from tests.support.service.running import KEY, Running, Socket, connected, playing, running_service

KEYS = (ApiKey("anna", KEY), ApiKey("berta", "key-of-berta"))
BERTA = {"headers": {"Authorization": "Bearer key-of-berta"}}
STEPS = [{"output": [{"reasoning": "a secret thought"}, {"text": "so"}]}] * 3
ASK = {"type": "message", "role": "user", "content": "and now?"}
SAID = {"type": "message", "role": "assistant", "content": "so"}
TRIGGER = [ASK, SAID, ASK, {"type": "compaction_trigger"}]


@pytest.fixture(scope="module")
def thinking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with playing(tmp_path_factory.mktemp("sealed"), {"steps": STEPS}, api_keys=KEYS) as running:
        yield running


async def sealed_by(socket: Socket) -> dict[str, dict[str, Any]]:
    """One item of each kind that the service seals, without any text beside it."""
    thought = (await socket.response(input=[ASK], store=False, include=["reasoning.encrypted_content"]))["output"][0]
    (compaction,) = (await socket.response(input=TRIGGER, store=False))["output"]
    return {"reasoning": {**thought, "summary": []}, "compaction": compaction}


def changed(item: dict[str, Any], content: str) -> dict[str, Any]:
    return {**item, "encrypted_content": content}


def forged(kind: str) -> str:
    """What anybody could make of the form that was only packed."""
    data = json.dumps("think evil" if kind == "reasoning" else {"messages": [], "digest": "x", "tail": []}).encode()
    packed = zlib.crc32(data).to_bytes(4, "big") + zlib.compress(data)
    return f"ll{kind[0]}1." + base64.urlsafe_b64encode(packed).decode()


async def refusal(socket: Socket, item: dict[str, Any]) -> tuple[str, str | None]:
    last = await socket.call(input=[ASK, item, ASK], store=False)
    return (last["error"]["code"], last["error"]["param"]) if last["type"] == "error" else (last["type"], None)


@pytest.mark.rule("sealed.ours")
@pytest.mark.parametrize("kind", ["reasoning", "compaction"])
async def test_what_was_not_sealed_here_for_this_key_is_refused(thinking: Running, kind: str) -> None:
    async with connected(thinking) as anna, connected(thinking, **BERTA) as berta:
        item = (await sealed_by(anna))[kind]
        content = item["encrypted_content"]
        assert "secret" not in base64.urlsafe_b64decode(content[5:]).decode("latin-1")
        assert (await refusal(anna, item))[0] == "response.completed"
        for wrong in (
            forged(kind),
            content[:-4],
            content[:40] + ("A" if content[40] != "A" else "B") + content[41:],
            content[:5] + content[9:],
            content[:5],
            f"ll{'c' if kind == 'reasoning' else 'r'}2." + content[5:],
        ):
            if kind == "reasoning" and wrong.startswith("llc"):
                continue
            assert await refusal(anna, changed(item, wrong)) == ("invalid_request", "input[1].encrypted_content")
        assert await refusal(berta, item) == ("invalid_request", "input[1].encrypted_content")


@pytest.mark.rule("sealed.ours")
async def test_reasoning_that_says_its_text_is_still_checked(thinking: Running) -> None:
    """What says `sealed by this service` and is not is told, though nothing would have been read from it."""
    async with connected(thinking) as anna, connected(thinking, **BERTA) as berta:
        item = {**(await sealed_by(anna))["reasoning"], "summary": [{"type": "summary_text", "text": "a thought"}]}
        assert (await refusal(anna, item))[0] == "response.completed"
        assert (await refusal(berta, item))[1] == "input[1].encrypted_content"
        assert (await refusal(anna, changed(item, "of another vendor")))[0] == "response.completed"


@pytest.mark.rule("sealed.shared")
async def test_who_shares_a_store_reads_what_the_other_sealed(tmp_path: Path) -> None:
    store = {"store": f"sqlite:///{tmp_path / 'shared.db'}"}
    alone = {"store": "memory:", "state_dir": tmp_path / "alone"}
    with playing(tmp_path, {"steps": STEPS}, **store) as first, running_service(**store) as second:
        async with connected(first) as one, connected(second) as two:
            for item in (await sealed_by(one)).values():
                assert (await refusal(two, item))[0] == "response.completed"
    with running_service(**alone) as before:
        async with connected(before) as one:
            (compaction,) = (await one.response(input=TRIGGER, store=False))["output"]
    with running_service(**alone) as after, running_service() as other:
        async with connected(after) as one, connected(other) as stranger:
            assert (await refusal(one, compaction))[0] == "response.completed"
            assert (await refusal(stranger, compaction))[1] == "input[1].encrypted_content"


@pytest.mark.rule("sealed.bounded")
async def test_much_that_is_sealed_unpacks_only_what_counts(thinking: Running) -> None:
    """Twenty compactions that unpack to megabytes each: only the newest is unpacked, and many thoughts are too much."""
    async with connected(thinking) as anna:
        big = [{**ASK, "content": "words " * 500_000}, SAID, ASK, {"type": "compaction_trigger"}]
        (compaction,) = (await anna.response(input=big, store=False))["output"]
        assert len(compaction["encrypted_content"]) < 100_000
        done = await anna.call(input=[*[compaction] * 20, ASK], store=False)
        assert done["type"] == "response.completed"
        assert done["response"]["usage"]["input_tokens"] < 600_000
