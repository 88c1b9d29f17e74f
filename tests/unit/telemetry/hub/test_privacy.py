"""What leaves the machine holds figures, ids, labels and codes."""

from __future__ import annotations

import pytest

from agent_core.telemetry import events as ev
from agent_core.telemetry.hub.privacy import REMOVED, strip_content
from agent_core.telemetry.source import SOURCE_PATTERN, new_source
from tests.support.telemetry.scene import Scene


def test_ordinary_events_leave_as_they_are() -> None:
    scene = Scene()
    scene.start_session("label")
    scene.open_connection()
    scene.start_turn()
    scene.call(finish_reason="stop", error_code="rate_limit_exceeded")
    scene.tool(3, "mcp.github.create_issue")
    scene.open_approval()
    scene.resolve_approval()
    scene.finish_turn()
    scene.emit(ev.ConnectionReconnected(cause="connection_lost"))
    assert [strip_content(event) for event in scene.events] == scene.events


@pytest.mark.parametrize("text", ["/home/me/x", "a b", "x" * 65, "", "naïve", "rm -rf $HOME", "a\nb", "C:\\x"])
def test_what_is_no_code_is_removed(text: str) -> None:
    fallback = strip_content(ev.ConnectionFallback(cause=text))
    assert fallback == ev.ConnectionFallback()
    completed = strip_content(
        ev.CallCompleted(status="failed", duration_ms=1.0, error_code=text, finish_reason=text, input_tokens=3)
    )
    assert completed == ev.CallCompleted(status="failed", duration_ms=1.0, input_tokens=3)
    tool = strip_content(ev.ToolStarted(tool_call="t", name=text))
    assert tool == ev.ToolStarted(tool_call="t", name=REMOVED)


@pytest.mark.parametrize(
    ("model", "leaves"),
    [
        ("gpt-5", True),
        ("openai/gpt-5:free", True),
        ("hf.co/org/name@main", True),
        ("/home/me/model.gguf", False),
        ("../model.gguf", False),
        ("my model", False),
        ("a/b/c/d/e", False),
        ("~/model", False),
        ("", False),
    ],
)
def test_models_are_names_not_paths(model: str, leaves: bool) -> None:
    sent = ev.CallSent(model=model, transport="http", attempt=1, reuse="first", input_items=1, bytes_up=1)
    stripped = strip_content(sent)
    assert isinstance(stripped, ev.CallSent)
    assert stripped.model == (model if leaves else REMOVED)


def test_content_and_rules_never_leave() -> None:
    assert strip_content(ev.Content(kind="answer", text="secret")) is None
    resolved = ev.ApprovalResolved(
        approval="a", kind="command", decision="allow", waited_ms=1.0, rule="git push *", by="terminal"
    )
    stripped = strip_content(resolved)
    assert isinstance(stripped, ev.ApprovalResolved)
    assert (stripped.rule, stripped.by) == (None, "terminal")


def test_a_source_is_unique_and_names_nobody() -> None:
    sources = {new_source() for _ in range(50)}
    assert len(sources) == 50
    assert all(SOURCE_PATTERN.match(source) for source in sources)
