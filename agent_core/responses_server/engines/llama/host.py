"""llama.cpp in this process: one model and its slots, by xllamacpp's server behind a private Unix socket.

xllamacpp gives no way to the tokenizer and the slots but the server's own HTTP endpoints, so those are used; the socket
lives in a folder that only this user can enter. This is the one module that knows xllamacpp and llama.cpp's wire
format (ggml-org/llama.cpp `tools/server/README.md`: `/tokenize`, `/completion`).
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import shutil
import tempfile
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agent_core.errors import EngineError, WireError
from agent_core.responses_server.engines.llama.gguf import Gguf
from agent_core.responses_server.engines.llama.settings import LlamaSettings
from agent_core.responses_server.engines.llama.template import GUARD
from agent_core.wire.sse import SseDecoder

if TYPE_CHECKING:
    import httpx

NEEDED: Final = ("xllamacpp", "llguidance")
"""Packages of the extra `local`."""

_CODES: Final = {
    "exceed_context_size_error": "context_length_exceeded",
    "invalid_request_error": "invalid_request",
    "not_supported_error": "engine_unavailable",
    "unavailable_error": "engine_unavailable",
}
"""llama.cpp's types of errors."""


class TopLogprob(msgspec.Struct):
    token: str
    logprob: float | None = None
    bytes: list[int] = []


class Logprob(TopLogprob):
    top_logprobs: list[TopLogprob] = []


class Timings(msgspec.Struct):
    """`cache_n`: tokens of the prompt whose state was there; `prompt_n` were evaluated, `predicted_n` sampled."""

    cache_n: int = 0
    prompt_n: int = 0
    predicted_n: int = 0


class Chunk(msgspec.Struct):
    """A piece of a completion; the last has `stop`, a `stop_type` (eos, word, limit) and `timings`."""

    content: str = ""
    tokens: list[int] = []
    stop: bool = False
    stop_type: str = ""
    timings: Timings | None = None
    completion_probabilities: list[Logprob] = []
    error: dict[str, Any] | None = None


class Host:
    """`context`: tokens that each slot holds."""

    def __init__(self, server: Any, folder: Path, context: int) -> None:
        self._server: Any = server
        self._folder = folder
        self._client: httpx.AsyncClient | None = None
        self._decoder = msgspec.json.Decoder(Chunk)
        self.context = context

    @classmethod
    async def start(cls, gguf: Gguf, settings: LlamaSettings, context: int) -> Host:
        """Load the model, off the event loop. Raises EngineError `engine_unavailable`."""
        folder = Path(tempfile.mkdtemp(prefix="loopline-llama-"))
        try:
            server = await asyncio.to_thread(load, gguf.path, settings, context, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(server, folder, context)

    async def tokens(self, text: str) -> list[int]:
        """The tokens of a rendered text; between two guards nothing is taken for a control token of the template."""
        tokens: list[int] = []
        for piece in text.split(GUARD):
            if piece:
                body = {"content": piece, "add_special": False, "parse_special": True}
                response = await self._http().post("/tokenize", content=msgspec.json.encode(body))
                if response.status_code != 200:
                    raise _refused(response.content)
                tokens += msgspec.json.decode(response.content)["tokens"]
        return tokens

    async def complete(self, body: Mapping[str, Any]) -> AsyncGenerator[Chunk, None]:
        """Sample; closing the iterator stops the model within one batch. Raises EngineError."""
        import httpx

        content = msgspec.json.encode({**body, "stream": True, "return_tokens": True})
        try:
            async with self._http().stream("POST", "/completion", content=content) as response:
                if response.status_code != 200:
                    raise _refused(await response.aread())
                decoder = SseDecoder()
                async for data in response.aiter_raw():
                    for message in decoder.feed(data):
                        chunk = self._decoder.decode(message.data)
                        if chunk.error is not None:
                            raise _refused(message.data)
                        yield chunk
                        if chunk.stop:
                            return
        except (httpx.HTTPError, WireError, msgspec.MsgspecError) as error:
            raise EngineError(f"llama.cpp broke off ({type(error).__name__}).", code="engine_failed") from None
        raise EngineError("llama.cpp broke off.", code="engine_failed")

    async def close(self) -> None:
        """Free the model and everything else."""
        if self._client is not None:
            await self._client.aclose()
        await asyncio.to_thread(self._release)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _release(self) -> None:
        """xllamacpp has no other way to stop a server; it waits for the end of what runs."""
        self._server = None

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            self._client = httpx.AsyncClient(
                base_url="http://llama",
                headers={"Content-Type": "application/json"},
                transport=httpx.AsyncHTTPTransport(uds=str(socket_path(self._folder))),
                timeout=None,
            )
        return self._client


def require_packages() -> None:
    """Raises EngineError `engine_unavailable` where the extra is not installed."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        message = f"Local models need {' and '.join(missing)}; pip install 'loopline[local]'."
        raise EngineError(message, code="engine_unavailable")


def socket_path(folder: Path) -> Path:
    return folder / "llama.sock"


def load(path: Path, settings: LlamaSettings, context: int, folder: Path) -> Any:
    """Start xllamacpp's server; blocks until the model is loaded. Raises EngineError `engine_unavailable`."""
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.hostnames = [str(socket_path(folder))]
    params.n_parallel = settings.slots
    params.n_ctx = context * settings.slots
    params.n_batch = params.n_ubatch = settings.effective_batch
    params.n_gpu_layers = settings.gpu_layers
    for processors in (params.cpuparams, params.cpuparams_batch):
        processors.n_threads = settings.effective_threads
    # One kernel for prompts and replies, so that both leave the same state behind.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    params.kv_unified = False
    # Lanes are ours to keep: no second cache, no state of others.
    params.cache_ram_mib = 0
    params.slot_prompt_similarity = 0.0
    params.fit_params = params.warmup = params.ui = False
    params.verbosity = 1
    try:
        return xllamacpp.Server(params)
    except RuntimeError:
        raise EngineError(
            f"llama.cpp can't load {path}; its own message is above.", code="engine_unavailable"
        ) from None


def _refused(body: bytes | str) -> EngineError:
    try:
        error = msgspec.json.decode(body, type=dict[str, Any])["error"]
        kind, message = str(error.get("type", "")), str(error.get("message", ""))
    except (msgspec.MsgspecError, KeyError, AttributeError):
        kind, message = "", "it gave no reason"
    return EngineError(f"llama.cpp refused: {message[:300]}", code=_CODES.get(kind, "engine_failed"))
