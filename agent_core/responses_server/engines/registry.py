"""The engines of a service by model name. `repair` and `scripted` always exist; `--engine NAME=KIND:SPEC` adds
others.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any

from agent_core.clock import Clock
from agent_core.errors import ConfigError, EngineError
from agent_core.responses_server.engine import Capabilities, Delta, Engine, EngineRequest, Finish, StartingEngine
from agent_core.responses_server.engines.scripted.engine import ScriptedEngine
from agent_core.responses_server.engines.scripted.script import read_rollout
from agent_core.responses_server.settings import ServeSettings

REPAIR = "agent_core.responses_server.engines.repair:RepairEngine"


def _llama(name: str, spec: str, options: Mapping[str, Any]) -> Engine:
    from agent_core.responses_server.engines.llama.engine import LlamaEngine

    return LlamaEngine(name, spec, options)


def _upstream(name: str, spec: str, options: Mapping[str, Any]) -> Engine:
    from agent_core.responses_server.engines.upstream.engine import UpstreamEngine

    return UpstreamEngine(name, spec, options)


KINDS: dict[str, Callable[[str, str, Mapping[str, Any]], Engine]] = {"llama": _llama, "upstream": _upstream}
"""Engine kinds of `--engine NAME=KIND:SPEC`: model name, spec and options to engine. Each is loaded when it is used."""


class AbsentEngine:
    """Stands for an engine whose code can't be loaded: it is listed, and says why it can't answer."""

    def __init__(self, name: str, cause: str) -> None:
        self.name, self._cause = name, cause
        self.capabilities = Capabilities(tools=False, chat=False)

    async def stream(self, request: EngineRequest) -> AsyncIterator[Delta]:
        if self._cause:
            raise EngineError(f"The engine '{self.name}' is not available: {self._cause}.", code="engine_unavailable")
        yield Finish()

    async def close(self) -> None:
        return


class EngineRegistry:
    """Engines by model name. A name may be followed by `:VARIANT`, which the engine reads itself.

    `engines` are built in. `digest` is that of what all engines are made of: while it is the same, every name leads to
    the same engine.
    """

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self._engines = dict(engines)
        self._marks: dict[str, bytes] = {}
        self.digest = _digest_of(self._engines, self._marks)

    def replace(
        self, specs: Mapping[str, str], options: Mapping[str, Mapping[str, Any]], *, start: bool = True
    ) -> list[Engine]:
        """Have these engines besides the built-in ones; those whose spec and options are the same stay.

        New ones are started if `start`. Returns those that are out of it now: close them once nothing runs on them.
        Raises ConfigError, and then nothing has changed.
        """
        marks = {name: _mark(spec, options.get(name, {})) for name, spec in specs.items()}
        made = {}
        for name, spec in specs.items():
            if name in self._engines and name not in self._marks:
                raise ConfigError("serve", f"engine {name}", "a name that is not taken")
            same = self._marks.get(name) == marks[name]
            made[name] = self._engines[name] if same else _make(name, spec, options)
        old = [self._engines.pop(name) for name in self._marks]
        fresh = [engine for engine in made.values() if engine not in old]
        self._engines |= made
        self._marks, self.digest = marks, _digest_of(self._engines, marks)
        if start:
            _start(fresh)
        return [engine for engine in old if engine not in made.values()]

    @property
    def names(self) -> list[str]:
        return list(self._engines)

    def items(self) -> list[tuple[str, Engine]]:
        return list(self._engines.items())

    def start(self) -> None:
        """Let engines begin what they have to do before the first call; the event loop must run."""
        _start(self._engines.values())

    async def close(self) -> None:
        """Close every engine. Raises the first EngineError once all are closed."""
        first: EngineError | None = None
        for engine in self._engines.values():
            try:
                await engine.close()
            except EngineError as error:
                first = first or error
        if first is not None:
            raise first

    def find(self, model: str) -> Engine | None:
        return self._engines.get(model) or self._engines.get(model.partition(":")[0])


def build_registry(settings: ServeSettings, clock: Clock) -> EngineRegistry:
    """Raises ConfigError for an engine option or a rollout file that can't be used."""
    rollout = read_rollout(settings.rollout_file) if settings.rollout_file is not None else None
    engines: dict[str, Engine] = {
        "repair": _load("repair", REPAIR),
        "scripted": ScriptedEngine(rollout, clock),
    }
    registry = EngineRegistry(engines)
    registry.replace(settings.engines, settings.engine_options, start=False)
    return registry


def _make(name: str, spec: str, options: Mapping[str, Mapping[str, Any]]) -> Engine:
    kind, _, rest = spec.partition(":")
    if kind not in KINDS:
        raise ConfigError("serve", f"engine {name}", f"one of the kinds {sorted(KINDS)}", got=repr(kind))
    return KINDS[kind](name, rest, options.get(name, {}))


def _start(engines: Iterable[Engine]) -> None:
    for engine in engines:
        if isinstance(engine, StartingEngine):
            engine.start()


def _mark(spec: str, options: Mapping[str, Any]) -> bytes:
    """What an engine is made of, in 16 bytes: equal ones make equal engines."""
    return blake2b(repr((spec, sorted(options.items()))).encode(), digest_size=16).digest()


def _digest_of(engines: Mapping[str, Engine], marks: Mapping[str, bytes]) -> bytes:
    return blake2b(repr([(name, marks.get(name)) for name in sorted(engines)]).encode(), digest_size=16).digest()


def _load(name: str, target: str) -> Engine:
    module_name, _, attribute = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        return AbsentEngine(name, f"module {error.name} is missing")
    engine: Engine = getattr(module, attribute)()
    return engine
