"""Where the bug may be: a weight per line, from coverage of failing and passing tests, tracebacks, data flow. Pure."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

from agent_core.repair import dataflow
from agent_core.repair.failures import Failure, is_test_path
from agent_core.repair.scratch import Coverage
from agent_core.repair.source import Region, Source

Weights = dict[int, float]
"""Line -> weight in (0, 1.5]; lines that are not there are not suspected."""

_REACH = 0.93
"""What is left of a weight per step of data flow away from where the failure shows."""


def by_coverage(coverage: Sequence[Coverage], failures: Sequence[Failure], failed: int) -> dict[str, Weights]:
    """Weights per file of the project's own code (Ochiai's measure), raised along the tracebacks."""
    weights: dict[str, Weights] = {}
    for item in coverage:
        if not is_test_path(item.path):
            weights[item.path] = {
                line: bad / math.sqrt(max(failed, bad) * (bad + good))
                for line, (bad, good) in item.counts().items()
                if bad
            }
    for path, line, factor in _marked(failures):
        if path in weights and line in weights[path]:
            weights[path][line] = min(1.5, weights[path][line] * factor)
    for failure in failures:
        own = [(path, line) for path, line, _ in failure.frames if not is_test_path(path)]
        for path, line in own[-1:]:
            weights.setdefault(path, {}).setdefault(line, 1.0)  # loading a file failed, so nothing was measured
    return {path: lines for path, lines in weights.items() if lines}


def by_traceback(
    sources: Mapping[str, Source], failures: Sequence[Failure], called: Sequence[str]
) -> dict[str, Weights]:
    """Weights where nothing can be measured: functions in tracebacks, and what failing tests call."""
    weights: dict[str, Weights] = {}

    def suspect(source: Source, region: Region, weight: float) -> None:
        lines = weights.setdefault(source.path, {})
        for line in range(region.first, region.last + 1):
            lines[line] = max(weight, lines.get(line, 0.0))

    names = dict.fromkeys(called, 0.8)
    for _ in range(2):
        for source in sources.values():
            for region in source.regions[:-1]:
                weight = names.get(region.name, 0.0) or (names.get(region.qualname.split(".")[0], 0.0) * 0.9)
                if weight:
                    suspect(source, region, weight)
                    for node in region.nodes:
                        if isinstance(node, ast.Call):
                            callee = (
                                node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                            )
                            names.setdefault(callee, weight * 0.75)
    for path, line, factor in _marked(failures):
        found = sources.get(path)
        if found is not None:
            suspect(found, found.region_at(line), 0.7 * factor)
            weights[path][line] = min(1.5, factor)
    return weights


def _marked(failures: Sequence[Failure]) -> list[tuple[str, int, float]]:
    """(file, line, factor) along tracebacks; the innermost line of the project's own code most."""
    marks: dict[tuple[str, int], float] = {}
    for failure in failures:
        own = [(path, line) for path, line, _ in failure.frames if not is_test_path(path)]
        for depth, place in enumerate(reversed(own)):
            marks[place] = max(marks.get(place, 0.0), 1.5 if depth == 0 else 1.2 if depth == 1 else 1.1)
    return [(path, line, factor) for (path, line), factor in marks.items()]


def along_the_flow(region: Region, weights: Weights, failures: Sequence[Failure]) -> Weights:
    """The region's weights, lowered for statements that the failing value did not pass through."""
    inside = {line: weight for line, weight in weights.items() if region.first <= line <= region.last}
    if not inside or region.is_module:
        return inside
    crashed = {
        line
        for failure in failures
        for path, line, _ in failure.frames
        if path == region.source.path and line in inside
    }
    shown = crashed or {
        node.lineno
        for node in region.nodes
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Raise) and node.lineno in inside
    }
    steps = dataflow.distances(region, shown or {region.last})
    return {
        line: weight * (max(_REACH ** steps[line], 0.6) if line in steps else 0.5) for line, weight in inside.items()
    }


def called_names(test: ast.AST) -> list[str]:
    """Names that a test calls or reads, in source order."""
    found: dict[str, None] = {}
    for node in ast.walk(test):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name and not name.startswith(("assert", "raises", "approx")):
                found[name] = None
    return list(found)
