"""Models that can't be had: one terminal event each, with a cause, and a service that goes on."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.engines.llama_tiny import byte_tokens, text, write_tiny
from tests.support.service.running import connected, running_service


async def refusal(model: str, **options: Any) -> str:
    """The cause that a call's one terminal event gives; the service answers another model behind it."""
    with running_service(engines={"bad": f"llama:{model}"}, engine_options={"bad": options}) as running:
        async with connected(running) as socket:
            await socket.create(model="bad", input="hi", store=False)
            events = await socket.finish(timeout_s=60)
            assert events[-1]["type"] == "response.failed"
            assert (await socket.response(model="scripted", input="hi"))["status"] == "completed"
    error = events[-1]["response"]["error"]
    assert error["code"] == "engine_unavailable"
    message = error["message"]
    assert isinstance(message, str)
    return message


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4000])


def another_kind(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04" + bytes(100))


def twice_the_same_token(path: Path) -> None:
    """A damage that the header's reader can't see, and that aborts llama.cpp's process (GGML_ASSERT)."""
    tokens = byte_tokens()
    path.write_bytes(path.read_bytes().replace(text(tokens[200]), text(tokens[201]), 1))


def a_weight_is_missing(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(text("output_norm.weight"), text("output_nurm.weight"), 1))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut_short, "is cut short"),
        (another_kind, "is no GGUF model"),
        (twice_the_same_token, "can't be run by llama.cpp"),
        (a_weight_is_missing, "can't be run by llama.cpp"),
        (Path.unlink, "does not exist"),
    ],
)
async def test_damaged_files(tmp_path: Path, damage: Callable[[Path], None], said: str) -> None:
    path = write_tiny(tmp_path / "m.gguf")
    damage(path)
    assert said in await refusal(str(path))


async def test_an_architecture_that_llama_cpp_does_not_know(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "m.gguf", architecture="zyx")
    message = await refusal(str(path))
    assert "can't be run by llama.cpp" in message
    assert "zyx" in message


async def test_more_memory_than_there_is(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "m.gguf", context=2_000_000_000)
    message = await refusal(str(path), context=2_000_000_000, slots=64)
    assert message.startswith("Not enough memory for m.gguf: it needs ")
    assert "set a smaller 'context' or fewer 'slots'" in message


async def test_a_template_that_can_not_be_read(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "m.gguf", template="{% for %}")
    assert "chat template can't be read" in await refusal(str(path))


async def test_a_model_that_comes_later_is_found(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    options = {"late": {"context": 512, "slots": 1}}
    with running_service(engines={"late": f"llama:{path}"}, engine_options=options) as running:
        async with connected(running) as socket:
            call = {"model": "late", "input": "hi", "max_output_tokens": 4, "store": False}
            assert (await socket.call(**call))["type"] == "response.failed"
            write_tiny(path)
            assert (await socket.call(**call))["type"] in ("response.completed", "response.incomplete")


async def test_a_model_without_a_template_gets_the_common_one(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "m.gguf", template=None)
    options = {"plain": {"context": 512, "slots": 1}}
    with running_service(engines={"plain": f"llama:{path}"}, engine_options=options) as running:
        async with connected(running) as socket:
            last = await socket.call(model="plain", input="hi", max_output_tokens=4, store=False)
            rendered = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
            controls = rendered.count("<|im_start|>") * 11 + rendered.count("<|im_end|>") * 9
            assert last["response"]["usage"]["input_tokens"] == len(rendered) - controls


def test_the_abort_is_real(tmp_path: Path) -> None:
    """The damage above keeps the header readable, or the trial in a process of its own would be for nothing."""
    from agent_core.responses_server.engines.llama.gguf import read_gguf

    path = write_tiny(tmp_path / "m.gguf")
    size = path.stat().st_size
    twice_the_same_token(path)
    assert path.stat().st_size == size
    assert read_gguf(path).architecture == "llama"
    assert struct.unpack_from("<I", path.read_bytes(), 4) == (3,)
