"""A user's way: `loopline run` and an editor on a model of one's own, all real processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.engines.llama_server import HERMES_TEMPLATE, llama_server
from tests.support.engines.real_model import smollm2
from tests.support.lsp.client import stdio
from tests.support.service.serving import KEY, serving
from tests.support.system.cli import environment, loopline

pytestmark = pytest.mark.timeout(1200)

CALL = '<tool_call>\n{"name": "read", "arguments": {"path": "notes.txt"}}\n</tool_call>'
WORDS = ("Repeat: ", "Repeat this:\n", "Repeat:\n", "Answer with this call and nothing else:\n", "Call:\n")
TASKS = tuple(words + CALL for words in WORDS)
"""SmolLM2 135M calls no tool of its own accord. It copies a call that is spelled out for it; in which words it has to
be told depends on the rest of the prompt, so they are tried in turn.
"""


LIMITS = "[limits]\ncalls = 4\n"
"""A model this small may go on calling; such a turn is another one that did not work."""

LOCAL = (
    LIMITS
    + """[engines.own]
temperature = 0
context = 2560
slots = 1
max_output_tokens = 96
stop = ["\\n\\n", "\\nThe"]
"""
)


def configured(env: dict[str, str], text: str) -> dict[str, str]:
    folder = Path(env["XDG_CONFIG_HOME"]) / "loopline"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)
    return env


def project(folder: Path) -> Path:
    root = folder / "project"
    root.mkdir()
    (root / "notes.txt").write_text("The launch word is marmalade.\n")
    return root


def run(folder: Path, env: dict[str, str], url: str, key: str = KEY) -> list[Any]:
    """The lines of the first run that read the file. `url` ends in /v1."""
    options = ("-w", str(project(folder)), "--base-url", url, "--model", "own", "--approve", "auto", "--json")
    for task in TASKS:
        done = loopline("run", task, *options, env={**env, "OPENAI_API_KEY": key})
        assert done.code in (0, 1), (done.out[-2000:], done.err)
        if done.code == 0 and any(line["type"] == "tool.finished" for line in done.lines):
            return done.lines
    raise AssertionError("no words made the model call the tool")


def check(lines: list[Any]) -> Any:
    """A streamed answer behind a call and its result; returns the summary, whose figures must fit."""
    types = [line["type"] for line in lines]
    (finished,) = [line for line in lines if line["type"] == "tool.finished"]
    assert (finished["name"], json.loads(finished["arguments"])) == ("read", {"path": "notes.txt"})
    assert "marmalade" in finished["output"]
    assert "text.delta" in types[types.index("tool.finished") :]
    summary = lines[-1]
    assert (summary["type"], summary["calls"], summary["connections"]) == ("summary", 2, 1)
    assert summary["reused_calls"] >= 1
    assert summary["full_resends"] == 0
    assert 0 < summary["output_tokens"] < summary["input_tokens"]
    assert summary["ttft_ms_p50"] > 0
    return summary


def test_a_local_model_behind_serve(tmp_path: Path) -> None:
    env = configured(environment(tmp_path), LOCAL)
    with serving(tmp_path, env, "--engine", f"own=llama:{smollm2()}") as service:
        summary = check(run(tmp_path, env, f"{service.url}/v1"))
    assert summary["cached_tokens"] > summary["input_tokens"] * 0.8, (
        "the warm-up and the first call were not evaluated again"
    )


async def test_a_server_of_another_kind_behind_serve(tmp_path: Path) -> None:
    async with llama_server(smollm2(), HERMES_TEMPLATE, "server-key") as url:
        table = LIMITS + '[engines.own.extra]\ntemperature = 0\nstop = ["\\n\\n", "\\nThe"]\n'
        env = configured({**environment(tmp_path), "LOOPLINE_UPSTREAM_KEY": "server-key"}, table)
        with serving(tmp_path, env, "--engine", f"own=upstream:{url}#smol") as service:
            lines = run(tmp_path, env, f"{service.url}/v1")
    text = json.dumps(lines)
    assert "server-key" not in text
    check(lines)


async def test_a_server_of_another_kind_by_its_url(tmp_path: Path) -> None:
    """Nothing of ours in between: it speaks the Responses API over HTTP and refuses the WebSocket, once."""
    env = configured(environment(tmp_path), LIMITS)
    async with llama_server(smollm2(), HERMES_TEMPLATE, "server-key") as url:
        lines = run(tmp_path, env, url, "server-key")
    types = [line["type"] for line in lines]
    (finished,) = [line for line in lines if line["type"] == "tool.finished"]
    assert (finished["name"], json.loads(finished["arguments"])) == ("read", {"path": "notes.txt"})
    assert "text.delta" in types[types.index("tool.finished") :]
    summary = lines[-1]
    assert (summary["status"], summary["calls"], summary["reused_calls"]) == ("completed", 2, 0)
    assert 0 < summary["output_tokens"] < summary["input_tokens"]
    assert summary["cached_tokens"] > 0, "the server's own cache, by what it reports"


async def test_an_editor_on_a_local_model_behind_serve(tmp_path: Path) -> None:
    env, root = configured(environment(tmp_path), LOCAL), project(tmp_path)
    with serving(tmp_path, env, "--engine", f"own=llama:{smollm2()}") as service:
        async with stdio({**env, "OPENAI_API_KEY": KEY}) as client:
            await client.initialize(root, options={"baseUrl": f"{service.url}/v1", "model": "own", "approve": "auto"})
            for task in TASKS:
                session = await client.command("loopline.session.new", {})
                end = await client.turn(task, timeout_s=100, sessionId=session["sessionId"])
                if end["status"] == "completed" and client.events("tool.finished", turnId=end["turnId"]):
                    break
            (read,) = client.events("tool.finished", turnId=end["turnId"])
            assert (read["name"], read["status"]) == ("read", "ok")
            assert "".join(event["text"] for event in client.events("text.delta", turnId=end["turnId"]))
            ended = {event["callId"]: event for event in client.events("call") if event["status"] == "completed"}
            last = list(ended.values())[-1]
            assert last["reuse"] == "reused"
            assert last["ttftMs"] > 0
            assert 0.5 < last["cachedShare"] < 1
            await client.shutdown()
