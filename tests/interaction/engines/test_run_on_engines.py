"""A user's way: `loopline run` against `loopline serve` with a model of one's own, all real processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.cli import environment, loopline
from tests.support.llama_server import HERMES_TEMPLATE, llama_server
from tests.support.real_model import needs_model, smollm2
from tests.support.serving import KEY, serving

pytestmark = needs_model

CALL = '<tool_call>\n{"name": "read", "arguments": {"path": "notes.txt"}}\n</tool_call>'
"""SmolLM2 135M calls no tool of its own accord. It copies a call that is spelled out for it; in which words it has to
be told depends on the rest of the prompt, and that is another one behind another template.
"""


def configured(env: dict[str, str], text: str) -> dict[str, str]:
    folder = Path(env["XDG_CONFIG_HOME"]) / "loopline"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text)
    return env


def run(folder: Path, env: dict[str, str], url: str, task: str, key: str = KEY) -> list[Any]:
    """The lines of one run. `url` ends in /v1."""
    (folder / "project").mkdir()
    (folder / "project" / "notes.txt").write_text("The launch word is marmalade.\n")
    options = (
        "-w",
        str(folder / "project"),
        "--base-url",
        url,
        "--model",
        "own",
        "--approve",
        "auto",
        "--json",
    )
    done = loopline("run", task, *options, env={**env, "OPENAI_API_KEY": key})
    assert done.code == 0, (done.out[-2000:], done.err)
    return done.lines


def check(lines: list[Any]) -> Any:
    """A streamed answer behind a call and its result; returns the summary, whose figures must fit."""
    types = [line["type"] for line in lines]
    (finished,) = [line for line in lines if line["type"] == "tool.finished"]
    assert (finished["name"], json.loads(finished["arguments"])) == ("read", {"path": "notes.txt"})
    assert "marmalade" in finished["result"]["output"]
    assert "text.delta" in types[types.index("tool.finished") :]
    summary = lines[-1]
    assert (summary["type"], summary["calls"], summary["connections"]) == ("summary", 2, 1)
    assert summary["reused_calls"] >= 1
    assert summary["full_resends"] == 0
    assert 0 < summary["output_tokens"] < summary["input_tokens"]
    assert summary["ttft_ms_p50"] > 0
    return summary


def test_a_local_model_behind_serve(tmp_path: Path) -> None:
    table = 'temperature = 0\ncontext = 2560\nslots = 1\nmax_output_tokens = 96\nstop = ["\\n\\n", "\\nThe"]\n'
    env = configured(environment(tmp_path), f"[engines.own]\n{table}")
    with serving(tmp_path, env, "--engine", f"own=llama:{smollm2()}") as service:
        summary = check(run(tmp_path, env, f"{service.url}/v1", f"Repeat: {CALL}"))
    assert summary["cached_tokens"] > summary["input_tokens"] * 0.8, (
        "the warm-up and the first call were not evaluated again"
    )


async def test_a_server_of_another_kind_behind_serve(tmp_path: Path) -> None:
    async with llama_server(smollm2(), HERMES_TEMPLATE, "server-key") as url:
        table = '[engines.own.extra]\ntemperature = 0\nstop = ["\\n\\n", "\\nThe"]\n'
        env = configured({**environment(tmp_path), "LOOPLINE_UPSTREAM_KEY": "server-key"}, table)
        with serving(tmp_path, env, "--engine", f"own=upstream:{url}#smol") as service:
            lines = run(tmp_path, env, f"{service.url}/v1", f"Answer with this call and nothing else:\n{CALL}")
    text = json.dumps(lines)
    assert "server-key" not in text
    check(lines)


async def test_a_server_of_another_kind_by_its_url(tmp_path: Path) -> None:
    """Nothing of ours in between: it speaks the Responses API over HTTP and refuses the WebSocket, once."""
    async with llama_server(smollm2(), HERMES_TEMPLATE, "server-key") as url:
        lines = run(tmp_path, environment(tmp_path), url, f"Repeat:\n{CALL}", "server-key")
    types = [line["type"] for line in lines]
    (finished,) = [line for line in lines if line["type"] == "tool.finished"]
    assert (finished["name"], json.loads(finished["arguments"])) == ("read", {"path": "notes.txt"})
    assert "text.delta" in types[types.index("tool.finished") :]
    summary = lines[-1]
    assert (summary["status"], summary["calls"], summary["reused_calls"]) == ("completed", 2, 0)
    assert 0 < summary["output_tokens"] < summary["input_tokens"]
    assert summary["cached_tokens"] > 0, "the server's own cache, by what it reports"
