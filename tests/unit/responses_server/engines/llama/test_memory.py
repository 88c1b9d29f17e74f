from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.errors import EngineError
from agent_core.responses_server.engines.llama.gguf import Gguf, read_gguf
from agent_core.responses_server.engines.llama.memory import WORK_BYTES, context_tokens, free_memory
from agent_core.responses_server.engines.llama.settings import LlamaSettings
from tests.support.engines.llama_tiny import write_tiny

KV = 256
"""Bytes per token of the small model."""


@pytest.fixture
def gguf(tmp_path: Path) -> Gguf:
    return read_gguf(write_tiny(tmp_path / "m.gguf", context=8192))


def of(**options: int) -> LlamaSettings:
    return LlamaSettings(model="m", **options)  # type: ignore[arg-type]


def test_what_the_model_was_trained_for_is_the_most(gguf: Gguf) -> None:
    assert context_tokens(gguf, of(), None) == 8192
    assert context_tokens(gguf, of(context=99_999), None) == 8192
    assert context_tokens(gguf, of(context=1000), None) == 1000


def test_conversations_get_shorter_where_memory_is_short(gguf: Gguf) -> None:
    free = gguf.size_bytes + WORK_BYTES + 4 * KV * 8192
    assert context_tokens(gguf, of(), free) == 4096


def test_what_was_asked_for_is_not_made_smaller(gguf: Gguf) -> None:
    free = gguf.size_bytes + WORK_BYTES + 4 * KV * 8192
    assert context_tokens(gguf, of(context=8192), free) == 8192
    with pytest.raises(EngineError) as failure:
        context_tokens(gguf, of(context=8192), free - 1)
    assert failure.value.code == "engine_unavailable"
    assert "4 conversations of 8192 tokens" in failure.value.message
    assert "Take a smaller model" in failure.value.message


def test_a_model_that_does_not_fit_at_all(gguf: Gguf) -> None:
    with pytest.raises(EngineError, match="Not enough memory"):
        context_tokens(gguf, of(), gguf.size_bytes)


def test_free_memory_is_what_the_system_and_the_control_group_leave(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable: 4000 kB\n")
    assert free_memory(meminfo, tmp_path) == 4000 * 1024
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 500000\nfile 200000\n")
    assert free_memory(meminfo, tmp_path) == 500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory(meminfo, tmp_path) == 4000 * 1024
    assert free_memory(tmp_path / "none", tmp_path) is None
