"""Where a process's events go: the journal always, the team hub if one is joined, OpenTelemetry if it is asked for.

OpenTelemetry is on where the standard variable `OTEL_EXPORTER_OTLP_ENDPOINT` is set and the extra `otel` is installed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from agent_core import __version__
from agent_core.clock import Clock
from agent_core.config.settings import Settings
from agent_core.errors import ConfigError
from agent_core.keys import Keys
from agent_core.telemetry.alive import Heart, Pulse
from agent_core.telemetry.emitter import Emitter, FanOut, Sink
from agent_core.telemetry.hub.shipper import Shipper
from agent_core.telemetry.journal.retention import sweep
from agent_core.telemetry.journal.sink import JournalSink
from agent_core.telemetry.source import new_source

OTEL_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


@contextmanager
def telemetry(
    settings: Settings,
    env: Mapping[str, str],
    states: Path,
    clock: Clock,
    *,
    sinks: tuple[Sink, ...] = (),
    warn: Callable[[str], None] = lambda text: None,
) -> Iterator[Emitter]:
    """Yield the process's emitter; all that was emitted is on disk, and on its way, when the block is left.

    `sinks` get each event too. `warn` takes one line where an exporter can't be had.
    """
    source = new_source()
    with ExitStack() as stack:
        if settings.hub_url and (token := Keys(env).get("hub", settings.hub_url)):
            shipper = Shipper(states, settings.hub_url, token)
            shipper.start()
            stack.callback(shipper.close)
        journal = JournalSink(states, source, content=settings.telemetry_content)
        stack.callback(journal.close)
        exporters: list[Sink] = []
        if env.get(OTEL_VARIABLE):
            from agent_core.telemetry.export.otel import OtelOptions, open_otel

            try:
                otel = open_otel(OtelOptions(version=__version__, environment=env))
            except ConfigError as error:
                warn(f"{OTEL_VARIABLE} is set, but {error.message} ({error.hint})")
            else:
                stack.callback(otel.close)
                exporters.append(otel)
        # Old journals are unlinked beside the work; a process that ends first leaves the rest to the next one.
        threading.Thread(target=sweep, args=(states, clock.wall_ns()), name="loopline-sweep", daemon=True).start()
        pulse = Pulse()
        emitter = Emitter(FanOut((journal, *exporters, *sinks, pulse)), clock, source)
        heart = Heart(pulse, emitter, clock)
        heart.start()
        stack.callback(heart.close)
        yield emitter
