from __future__ import annotations

from pathlib import Path

import pytest

from agent_core.errors import ConfigError
from agent_core.responses_server.engines.llama.settings import model_path, read_settings


def test_a_path_and_options() -> None:
    settings = read_settings("local", "m.gguf", {"slots": 2, "batch": 16, "temperature": 0, "stop": ["x"]})
    assert (settings.model, settings.slots, settings.temperature, settings.stop) == ("m.gguf", 2, 0, ("x",))
    assert settings.effective_batch == 32
    assert settings.effective_threads >= 1


def test_a_gpu_gets_larger_batches() -> None:
    assert read_settings("local", "m", {"gpu_layers": -1}).effective_batch == 512


@pytest.mark.parametrize(
    "options", [{"slots": 0}, {"top_p": 2}, {"contxt": 1}, {"threads": "many"}, {"batch": -1}, {"stop": "x"}]
)
def test_options_that_can_not_be(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"engines\.local"):
        read_settings("local", "m.gguf", options)


def test_no_path() -> None:
    with pytest.raises(ConfigError, match="llama:PATH.gguf"):
        read_settings("local", "", {})


def test_a_path_may_begin_at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert model_path("~/m.gguf") == tmp_path / "m.gguf"


def test_a_shipped_model_is_found_or_how_to_get_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_core.responses_server.engines.llama.settings.SHIPPED", {"x": ("no_such_pkg", "do this")})
    assert model_path("x") == "the model 'x' is not installed; do this"
