"""Model name to engine. A route is resolved once per connection, name and set of engines."""

from __future__ import annotations

import msgspec

from agent_core.errors import WireError
from agent_core.responses_server.engine import Engine
from agent_core.responses_server.engines.registry import EngineRegistry


class Route(msgspec.Struct, frozen=True):
    """`model` is the name the client asked for; engines see it, as variants (`scripted:slow`) are theirs to read."""

    model: str
    engine: Engine


class Router:
    """Routes of one connection. `resolved` counts those that were looked up; a reload of the engines voids all.

    `cached` False resolves anew each time (to measure what keeping them gives).
    """

    def __init__(self, registry: EngineRegistry, *, cached: bool = True) -> None:
        self._registry, self._cached = registry, cached
        self._routes: dict[str, Route] = {}
        self._digest = registry.digest
        self.resolved = 0

    def resolve(self, model: str | None) -> Route:
        """Raises WireError (param `model`) for no or an unknown model."""
        if model is None:
            raise WireError("Missing required parameter: 'model'.", param="model")
        if self._digest != self._registry.digest:
            self._digest = self._registry.digest
            self._routes.clear()
        route = self._routes.get(model)
        if route is None:
            self.resolved += 1
            engine = self._registry.find(model)
            if engine is None:
                known = ", ".join(sorted(self._registry.names))
                raise WireError(f"The model does not exist here; there are: {known}.", param="model")
            route = Route(model, engine)
            if self._cached:
                self._routes[model] = route
        return route
