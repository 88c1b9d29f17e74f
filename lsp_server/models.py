"""What the configured service says of its models, asked once and kept until settings change."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from agent_core.errors import LooplineError
from agent_core.runtime.embedded import Embedded
from agent_core.runtime.endpoint import EMBEDDED_MODEL, Endpoint
from agent_core.runtime.models import list_models
from lsp_server.protocol.methods import ModelInfo

LOOK_S = 0.5
"""How long an entry point in the editor waits for the service's word."""

_REPAIR: Mapping[str, bool] = {"tools": True, "chat": False, "repair": True, "steer": False}
"""The embedded service's own search engine, known without starting it."""


class ModelBook:
    """Belongs to one editor. `endpoint` says which service and model new turns would use, `service` gives the embedded
    one."""

    def __init__(self, endpoint: Callable[[], Endpoint | None], service: Callable[[], Awaitable[Embedded]]) -> None:
        self._endpoint, self._service = endpoint, service
        self._asking: asyncio.Task[tuple[ModelInfo, ...]] | None = None

    def forget(self) -> None:
        """Settings changed: ask anew when it matters."""
        self._asking = None

    async def listed(self) -> tuple[ModelInfo, ...]:
        """Raises LooplineError where the service can't say."""
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask(), name="models")
        asking = self._asking
        try:
            return await asyncio.shield(asking)
        except LooplineError:
            if self._asking is asking:
                self._asking = None
            raise

    async def can(self, what: str) -> bool:
        """Whether the configured model can do `what` (`chat`, `tools`, `repair`). A service that does not say can."""
        endpoint = self._endpoint()
        if endpoint is None:
            return False
        if endpoint.base_url is None and endpoint.model == EMBEDDED_MODEL:
            return _REPAIR.get(what, False)
        try:
            async with asyncio.timeout(LOOK_S):
                models = await self.listed()
        except (LooplineError, TimeoutError):
            return endpoint.model != EMBEDDED_MODEL or _REPAIR.get(what, False)
        found = next((model for model in models if model.id == endpoint.model), None)
        found = found or next((model for model in models if model.id == endpoint.model.partition(":")[0]), None)
        return found is None or found.capabilities is None or found.capabilities.get(what, False)

    async def _ask(self) -> tuple[ModelInfo, ...]:
        endpoint = self._endpoint() or Endpoint(base_url=None, model=EMBEDDED_MODEL)
        if endpoint.listed_at is not None:
            found = await list_models(*endpoint.listed_at)
        else:
            service = await self._service()
            found = await list_models(service.base_url, service.api_key)
        return tuple(ModelInfo(id=entry.id, capabilities=entry.capabilities) for entry in found)
