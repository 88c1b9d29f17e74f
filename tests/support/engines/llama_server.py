"""llama.cpp's own HTTP server (xllamacpp) as a process on loopback: a real OpenAI-compatible upstream.

As a module it is that process: `python -m tests.support.engines.llama_server MODEL [TEMPLATE]`, one line with its URL.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

START_TIMEOUT_S = 60.0

HERMES_TEMPLATE = """{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}

{% endif %}You may call functions. Signatures:
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>
Call one like this:
<tool_call>
{"name": <name>, "arguments": <object>}
</tool_call><|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{{ message.content or '' }}{% for call in message.tool_calls or [] %}{% if not loop.first or message.content %}

{% endif %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
"""For models whose own template knows no tools: the Hermes form, which Qwen's templates have as well."""


@asynccontextmanager
async def llama_server(model: Path, template: str = "", key: str = "") -> AsyncIterator[str]:
    """The base URL (ending in /v1) of a server for `model`. `key`: what it demands, "" for nothing."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        str(model),
        template,
        key,
        cwd=Path(__file__).parents[3],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            url = (await process.stdout.readline()).decode().strip()
        assert url, "the server did not start"
        yield f"{url}/v1"
    finally:
        process.kill()
        await process.wait()
        # The transport's pipes are closed by the loop's next turn.
        await asyncio.sleep(0)


def main(model: str, template: str, key: str) -> None:
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.n_parallel, params.n_ctx = 2, 2 * 2048
    params.n_batch = params.n_ubatch = 64
    for processors in (params.cpuparams, params.cpuparams_batch):
        processors.n_threads = 1
    params.cache_ram_mib, params.verbosity = 0, 1
    params.warmup = params.ui = params.fit_params = False
    params.sampling.temp, params.n_predict = 0.0, 160
    params.api_keys = [key] if key else []
    if template:
        params.chat_template = template
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    time.sleep(0)


if __name__ == "__main__":
    main(*sys.argv[1:4])
