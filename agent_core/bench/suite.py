"""The scenarios of the benchmark, and running them one after the other.

The other packages bring their own by entry points of the group `loopline.scenarios`, each a function like those here.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path

from agent_core import __version__
from agent_core.bench import ablation, capacity, client, emitting, flatness, llama, rollout, startup
from agent_core.bench.figures import Figure, write
from agent_core.errors import UsageError

GROUP = "loopline.scenarios"
Scenario = Callable[[], Iterable[Figure]]

SCENARIOS: Mapping[str, Scenario] = {
    "startup": startup.measure,
    "emitting": emitting.measure,
    "client": client.measure,
    "rollout": rollout.measure,
    "flatness": flatness.measure,
    "ablation": ablation.measure,
    "capacity": capacity.measure,
    "llama": llama.measure,
}


def run(out: Path, only: tuple[str, ...], say: Callable[[str], None]) -> list[Figure]:
    """Run the scenarios (all, or those named in `only`) and write the reports to `out`. `say` takes progress lines."""
    scenarios = {**SCENARIOS, **{entry.name: entry.load() for entry in sorted(entry_points(group=GROUP))}}
    if unknown := set(only) - set(scenarios):
        raise UsageError(f"no scenario is named {', '.join(sorted(unknown))}", hint=f"there are {', '.join(scenarios)}")
    figures: list[Figure] = []
    for name, scenario in scenarios.items():
        if only and name not in only:
            continue
        say(f"{name} …")
        for figure in scenario():
            figures.append(figure)
            ratio = "" if figure.ratio is None else f"  ({figure.ratio:.2f} × {figure.against})"
            say(f"  {figure.name}: {figure.value:,.3g} {figure.unit}{ratio}")
    write(out, meta(), figures)
    return figures


def meta() -> dict[str, object]:
    """What the figures were measured on."""
    return {
        "loopline": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": f"{os.getloadavg()[0]:.1f} processes wanted to run, before writing this",
    }
