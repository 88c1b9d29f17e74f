"""`loopline models`: the models of the provider in use, and what each can do."""

from __future__ import annotations

import asyncio

from agent_core.cli.console import make_console, make_table
from agent_core.cli.jsonl import JsonLines
from agent_core.clock import SystemClock
from agent_core.config.load import load
from agent_core.model.capabilities import Capabilities
from agent_core.providers import provider_of
from agent_core.runtime.connect import model_book
from agent_core.runtime.embedded import embedded_service
from agent_core.runtime.endpoint import Endpoint, choose
from agent_core.runtime.model_list import ModelEntry
from agent_core.runtime.models import list_models
from agent_core.telemetry.display import UNKNOWN, clean, number
from agent_core.variables import variables

COLUMNS = ("model", "family", "context", "effort", "images", "edits by", "in use")


def show_models(provider: str | None, base_url: str | None, *, json: bool) -> None:
    """Raises LooplineError where it can't be reached or refuses the key."""
    env = variables()
    settings = load(env=env, flags={"provider": provider, "base_url": base_url}).settings
    endpoint = choose(settings, env)
    known = provider_of(endpoint.provider, settings.providers).models if endpoint.provider else ()
    found = [ModelEntry(id=name) for name in known] or asyncio.run(_listed(endpoint))
    book = model_book(endpoint, settings)
    rows = [(entry, book.of(entry.id)) for entry in found]
    if json:
        lines = JsonLines()
        for entry, can in rows:
            lines.write(
                {
                    "id": entry.id,
                    "family": can.family or None,
                    "context_tokens": can.context_tokens,
                    "reasoning": can.reasoning,
                    "efforts": can.efforts,
                    "images": can.images,
                    "edit_tool": can.edit_tool,
                    "capabilities": entry.capabilities,
                    "in_use": entry.id == endpoint.model,
                    "source": can.source or None,
                }
            )
        return
    table = make_table()
    for name in COLUMNS:
        table.add_column(name, justify="right" if name == "context" else "left", overflow="fold")
    for entry, can in rows:
        table.add_row(*_cells(entry.id, can), "●" if entry.id == endpoint.model else "")
    make_console().print(table)


async def _listed(endpoint: Endpoint) -> list[ModelEntry]:
    if endpoint.listed_at is not None:
        return await list_models(*endpoint.listed_at)
    async with embedded_service(variables(), SystemClock()) as service:
        return await list_models(service.base_url, service.api_key)


def _cells(name: str, can: Capabilities) -> tuple[str, ...]:
    effort = UNKNOWN if can.efforts is None else ", ".join(can.efforts) or "takes none"
    images = {None: UNKNOWN, True: "yes", False: "no"}[can.images]
    return clean(name), can.family or "not known", number(can.context_tokens), effort, images, can.edit_tool
