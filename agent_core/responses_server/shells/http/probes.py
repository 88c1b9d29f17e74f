"""Small answers that need no pipeline: the model list and the health probes."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agent_core.errors import ServiceError
from agent_core.responses_server.engine import Engine
from agent_core.responses_server.service import Service
from agent_core.responses_server.shells.http.replies import told


class Probes:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def health(self, request: Request) -> Response:
        """The process runs."""
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """New work is taken: the tokenizer is loaded and the service does not shut down."""
        ready = self._service.pipeline.tokenizer.loaded and not self._service.draining
        return JSONResponse({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    async def models(self, request: Request) -> Response:
        """`GET /v1/models`, each with what its engine can do."""
        data = [_shown(name, engine) for name, engine in self._service.registry.items()]
        return JSONResponse({"object": "list", "data": data})

    async def model(self, request: Request) -> Response:
        """`GET /v1/models/{model}`."""
        name = request.path_params["model"]
        engine = self._service.registry.find(name)
        if engine is None:
            return told(
                ServiceError("The model does not exist here.", code="model_not_found", status=404, param="model")
            )
        return JSONResponse(_shown(name, engine))


def _shown(name: str, engine: Engine) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "loopline",
        "capabilities": msgspec.to_builtins(engine.capabilities),
    }
