from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core.errors import EngineError
from agent_core.responses_server.engines.llama.gguf import read_gguf
from tests.support.engines.llama_tiny import CHATML, CONTROL, WIDTH, pair, pairs, write_tiny
from tests.support.system.rights import let_pass, somebody_else


def refusal(path: Path) -> str:
    with pytest.raises(EngineError) as failure:
        read_gguf(path)
    assert failure.value.code == "engine_unavailable"
    return failure.value.message


def test_what_a_file_says_of_itself(tmp_path: Path) -> None:
    path = write_tiny(
        tmp_path / "m.gguf", context=512, layers=3, extra=[pair("tokenizer.chat_template.tool_use", 8, "T")]
    )
    gguf = read_gguf(path)
    assert (gguf.architecture, gguf.name, gguf.context_tokens) == ("llama", "tiny", 512)
    assert gguf.size_bytes == path.stat().st_size
    assert gguf.templates == {"": CHATML, "tool_use": "T"}
    assert gguf.special == {text: at for at, text in enumerate(CONTROL)}
    assert (gguf.bos, gguf.eos, gguf.adds_bos) == ("<|im_start|>", "<|im_end|>", False)
    assert gguf.kv_bytes_per_token == 3 * 2 * WIDTH * 2


def test_layers_may_have_heads_of_their_own(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "m.gguf", extra=[pairs("llama.attention.head_count_kv", 5, [2, 1])])
    assert read_gguf(path).kv_bytes_per_token == 2 * (16 + 16) * 3


def test_a_missing_file(tmp_path: Path) -> None:
    assert "does not exist; check the path" in refusal(tmp_path / "none.gguf")


def test_a_folder(tmp_path: Path) -> None:
    assert "can't be read" in refusal(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "m.gguf")
    path.chmod(0)
    let_pass(tmp_path)
    with somebody_else():
        assert "can't be read" in refusal(path)


@pytest.mark.parametrize(("data", "said"), [(b"", "too short"), (b"PK\3\4" * 20, "is no GGUF model")])
def test_a_file_of_another_kind(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    assert said in refusal(path)


def test_a_version_that_is_not_known(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "m.gguf")
    path.write_bytes(b"GGUF\x09\0\0\0" + path.read_bytes()[8:])
    assert "has GGUF version 9" in refusal(path)


def test_a_download_that_broke_off(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "m.gguf")
    path.write_bytes(path.read_bytes()[:-5000])
    assert "bytes of its weights are missing; download it again" in refusal(path)


@given(cut=st.integers(0, 8000))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_header_that_ends_anywhere_is_told(tmp_path: Path, cut: int) -> None:
    path = write_tiny(tmp_path / "m.gguf")
    path.write_bytes(path.read_bytes()[:cut])
    refusal(path)


@given(at=st.integers(0, 4000), value=st.binary(min_size=1, max_size=9))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_header_is_read_or_told_and_nothing_else(tmp_path: Path, at: int, value: bytes) -> None:
    path = write_tiny(tmp_path / "m.gguf")
    data = bytearray(path.read_bytes())
    data[at : at + len(value)] = value
    path.write_bytes(data)
    try:
        read_gguf(path)
    except EngineError as failure:
        assert failure.code == "engine_unavailable"
