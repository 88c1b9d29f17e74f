"""Model name to engine. A route is resolved once per connection and name."""

from __future__ import annotations

import msgspec

from agent_core.errors import WireError
from agent_core.responses_server.engines.base import Engine
from agent_core.responses_server.engines.registry import EngineRegistry


class Route(msgspec.Struct, frozen=True):
    """`model` is the name the client asked for; engines see it, as variants (`scripted:slow`) are theirs to read."""

    model: str
    engine: Engine


class Router:
    """Routes of one connection. `cached` False resolves anew each time (to measure what keeping them gives)."""

    def __init__(self, registry: EngineRegistry, *, cached: bool = True) -> None:
        self._registry, self._cached = registry, cached
        self._routes: dict[str, Route] = {}

    def resolve(self, model: str | None) -> Route:
        """Raises WireError (param `model`) for no or an unknown model."""
        if model is None:
            raise WireError("Missing required parameter: 'model'.", param="model")
        route = self._routes.get(model)
        if route is None:
            engine = self._registry.find(model)
            if engine is None:
                known = ", ".join(sorted(self._registry.names))
                raise WireError(f"The model does not exist here; there are: {known}.", param="model")
            route = Route(model, engine)
            if self._cached:
                self._routes[model] = route
        return route
