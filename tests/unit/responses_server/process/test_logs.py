"""The log on stderr: one line per record, and no text of an error that may quote a client."""

from __future__ import annotations

import json
import logging

import pytest

from agent_core.responses_server.process.logs import logging_to_stderr

log = logging.getLogger("agent_core.responses_server.test")


def test_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr("info", "json"):
        log.info("response", extra={"fields": {"response_id": "resp_1", "lane": None, "stages_ms": {"engine": 1.5}}})
        log.debug("not asked for")
        try:
            raise ValueError("what the client said")
        except ValueError:
            log.exception("it broke")
    log.warning("after the block nobody listens")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    assert [line["event"] for line in lines] == ["response", "it broke"]
    assert lines[0]["response_id"] == "resp_1"
    assert lines[0]["stages_ms"] == {"engine": 1.5}
    assert "lane" not in lines[0]
    assert lines[1]["error"] == "ValueError"
    assert "test_logs.py" in lines[1]["at"]
    assert "what the client said" not in json.dumps(lines)


def test_lines_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr("warning", "text"):
        log.info("response")
        log.warning("left\nopen", extra={"fields": {"count": 3, "processes": ["a b"]}})
    (line,) = [line for line in capsys.readouterr().err.splitlines() if " warning " in line]
    assert line.endswith('warning left\\nopen count=3 processes=["a b"]')


def test_the_level_is_put_back() -> None:
    before = logging.getLogger().level
    with logging_to_stderr("debug", "json"):
        pass
    assert logging.getLogger().level == before
