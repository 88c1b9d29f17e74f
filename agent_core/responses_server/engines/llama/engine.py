"""The engine: a request's prompt against the lane's transcript, what is new to the model, its text as deltas."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from agent_core.errors import EngineError
from agent_core.responses_server.engine import Capabilities, Delta, EngineRequest, Finish
from agent_core.responses_server.engines.llama.gguf import Gguf, read_gguf
from agent_core.responses_server.engines.llama.host import Chunk, Host, require_packages
from agent_core.responses_server.engines.llama.lanes import Holder, Keyed, Lane, Slots
from agent_core.responses_server.engines.llama.logprobs import LogprobTeller
from agent_core.responses_server.engines.llama.memory import context_tokens, free_memory
from agent_core.responses_server.engines.llama.prompt import Prompt, Prompter
from agent_core.responses_server.engines.llama.reading import Reader
from agent_core.responses_server.engines.llama.settings import model_path, read_settings
from agent_core.responses_server.engines.llama.trial import try_out

log = logging.getLogger(__name__)

_MEMORY: Final = "llama"


class Model:
    """A loaded model: what its file says, how it is spoken to, and where it runs."""

    def __init__(self, gguf: Gguf, prompter: Prompter, host: Host) -> None:
        self.gguf, self.prompter, self.host = gguf, prompter, host
        self.ends = {token: text for text, token in gguf.special.items()}


class LlamaEngine:
    """Loads its model with the first call; a model that can't be had is told by every call, and tried again."""

    def __init__(self, name: str, spec: str, options: Mapping[str, Any]) -> None:
        """Raises ConfigError for options that can't be."""
        self.name = name
        self._settings = read_settings(name, spec, options)
        self._loading: asyncio.Task[Model] | None = None
        self._slots = Slots(self._settings.slots, share_prefix=self._settings.share_prefix)
        self._keyed = Keyed()
        self._context = self._planned_context()

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            tools=True, chat=True, json_output=True, context_tokens=self._context, own_tokens=True, logprobs=True
        )

    def start(self) -> None:
        """Begin to load the model; whoever calls first waits for the rest, or is told why it can't be had."""
        if self._loading is None and self._context is not None:
            self._loading = asyncio.create_task(self._load())

    async def stream(self, request: EngineRequest) -> AsyncIterator[Delta]:
        model = await self._model()
        prompt = await asyncio.to_thread(model.prompter.prompt, request)
        lane = self._lane(request)
        async with self._slots.holding(lane, prompt.text) as (slot, reusable):
            tokens = await _fitted(lane, prompt.text, model.host)
            room = model.host.context - len(tokens)
            if room < 1:
                raise _too_long(len(tokens), model.host.context)
            body = self._body(request, prompt, tokens, slot, reusable=reusable)
            body["n_predict"] = min(room, request.max_output_tokens or self._settings.max_output_tokens)
            reader = Reader(prompt.form, prompt.tools, thinking=prompt.thinking)
            said, told = _Said(), LogprobTeller(request.top_logprobs)
            request.spent = said.so_far(len(tokens))
            async with aclosing(model.host.complete(body)) as chunks:
                async for chunk in chunks:
                    said.take(chunk, thinking=reader.is_thinking)
                    request.spent = said.so_far(len(tokens))
                    for delta in told.with_logprobs(reader.feed(chunk.content), chunk):
                        yield delta
            for delta in reader.finish():
                yield delta
            await said.keep(lane, model)
            yield said.finish(len(tokens), complete=reader.is_complete)

    async def warm(self, request: EngineRequest) -> Finish:
        """Load the model, and evaluate what the conversation begins with."""
        model = await self._model()
        text = await asyncio.to_thread(model.prompter.beginning, request)
        if not text:
            return Finish()
        lane = self._lane(request)
        async with self._slots.holding(lane, text) as (slot, reusable):
            tokens = await _fitted(lane, text, model.host)
            if len(tokens) >= model.host.context:
                raise _too_long(len(tokens), model.host.context)
            body = {"prompt": tokens, "id_slot": slot, "cache_prompt": reusable, "n_predict": 0}
            cached: int | None = None
            async with aclosing(model.host.complete(body)) as chunks:
                async for chunk in chunks:
                    cached = chunk.timings.cache_n if chunk.timings is not None else None
        return Finish(input_tokens=len(tokens), cached_tokens=cached, output_tokens=0, reasoning_tokens=0)

    async def close(self) -> None:
        if self._loading is None:
            return
        try:
            model = await self._loading
        except EngineError:
            return
        await model.host.close()

    async def _model(self) -> Model:
        """The loaded model. Raises EngineError `engine_unavailable`."""
        failed = self._loading is not None and self._loading.done() and self._loading.exception() is not None
        if self._loading is None or failed:
            self._loading = asyncio.create_task(self._load())
        return await asyncio.shield(self._loading)

    async def _load(self) -> Model:
        require_packages()
        path = model_path(self._settings.model)
        if isinstance(path, str):
            raise EngineError(f"The engine can't run: {path}.", code="engine_unavailable")
        gguf = await asyncio.to_thread(read_gguf, path)
        context = context_tokens(gguf, self._settings, free_memory())
        prompter = await asyncio.to_thread(Prompter, gguf, self._settings.template)
        await try_out(path, self._settings, context)
        host = await Host.start(gguf, self._settings, context)
        self._context = context
        log.info("%s: %d conversations of %d tokens", self.name, self._settings.slots, context)
        return Model(gguf, prompter, host)

    def _planned_context(self) -> int | None:
        """Tokens that a conversation will have, None where the model can't be loaded as things are."""
        path = model_path(self._settings.model)
        try:
            return context_tokens(read_gguf(path), self._settings, free_memory()) if isinstance(path, Path) else None
        except EngineError as error:
            log.warning("%s: %s", self.name, error.message)
            return None

    def _lane(self, request: EngineRequest) -> Lane:
        """The lane in the connection's memory, else the one with the client's cache key, else a new one."""
        holder = request.memory.get(_MEMORY)
        if not isinstance(holder, Holder):
            holder = request.memory[_MEMORY] = self._keyed.hold(request.cache_key)
        return holder.lane

    def _body(
        self, request: EngineRequest, prompt: Prompt, tokens: list[int], slot: int, *, reusable: bool
    ) -> dict[str, Any]:
        """A request to llama.cpp. What is None is left to its defaults."""
        settings = self._settings
        sampling = {
            "temperature": request.temperature if request.temperature is not None else settings.temperature,
            "top_p": request.top_p if request.top_p is not None else settings.top_p,
            "top_k": settings.top_k,
            "min_p": settings.min_p,
            "repeat_penalty": settings.repeat_penalty,
            "seed": settings.seed,
            "grammar": prompt.grammar,
            "n_probs": max(1, request.top_logprobs) if request.top_logprobs is not None else None,
        }
        return {
            "prompt": tokens,
            "id_slot": slot,
            "cache_prompt": reusable,
            "stop": list(settings.stop),
            "preserved_tokens": prompt.marks,
            **{name: value for name, value in sampling.items() if value is not None},
        }


class _Said:
    """What the model wrote, as text and tokens, for the transcript and the counts."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._tokens: list[int] = []
        self._reasoning = 0
        self._last = Chunk()

    def take(self, chunk: Chunk, *, thinking: bool) -> None:
        self._text.append(chunk.content)
        self._tokens += chunk.tokens
        self._reasoning += len(chunk.tokens) if thinking else 0
        self._last = chunk

    async def keep(self, lane: Lane, model: Model) -> None:
        """Append it to the transcript, the token that ended it by itself: under a grammar it may not be the template's.

        What a stop word cut is left out. llama.cpp does not tell all tokens of a character that is several; then the
        text is tokenised, and what differs from the model's state is evaluated again.
        """
        if self._last.stop_type == "word":
            return
        text, tokens = "".join(self._text), self._tokens
        sampled = self._last.timings.predicted_n if self._last.timings is not None else len(tokens)
        end = tokens.pop() if self._last.stop_type == "eos" and tokens else None
        if sampled != len(tokens) + (end is not None):
            text = model.prompter.plain(text)
            tokens = await model.host.tokens(text)
        lane.transcript.append(text, tokens)
        ending = model.ends.get(end) if end is not None else None
        if end is not None and ending is not None:
            lane.transcript.append(ending, [end])

    def so_far(self, input_tokens: int) -> Finish:
        """The counts while it goes on."""
        timings = self._last.timings
        return Finish(
            input_tokens=input_tokens,
            cached_tokens=timings.cache_n if timings is not None else None,
            output_tokens=len(self._tokens),
            reasoning_tokens=self._reasoning,
        )

    def finish(self, input_tokens: int, *, complete: bool) -> Finish:
        timings = self._last.timings
        return Finish(
            reason="max_output_tokens" if self._last.stop_type == "limit" or not complete else "stop",
            input_tokens=input_tokens,
            cached_tokens=timings.cache_n if timings is not None else None,
            output_tokens=timings.predicted_n if timings is not None else None,
            reasoning_tokens=self._reasoning,
        )


async def _fitted(lane: Lane, text: str, host: Host) -> list[int]:
    """Make `text` the lane's transcript: what it shares with it stays, the rest is tokenised. Returns its tokens."""
    transcript = lane.transcript
    mark = transcript.shared(text)
    rest = text[mark[0] :]
    tokens = await host.tokens(rest)
    transcript.cut(mark)
    transcript.append(rest, tokens)
    return transcript.tokens.copy()


def _too_long(tokens: int, context: int) -> EngineError:
    message = f"The input has {tokens} tokens, the model's context holds {context}; shorten or compact it."
    return EngineError(message, code="context_length_exceeded")
