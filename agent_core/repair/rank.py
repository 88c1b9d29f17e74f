"""All candidates of the suspected code, the most promising first. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from agent_core.repair.failures import Failure
from agent_core.repair.localise import Weights, along_the_flow
from agent_core.repair.operators import OPERATORS
from agent_core.repair.operators.base import Candidate, Clues, apply
from agent_core.repair.source import FunctionNode, Region, Source

MAX_REGIONS = 14
MAX_CANDIDATES = 6000
_OUTSIDE = 0.5
"""Share of a function's weight that constants outside of it get which it uses."""


def candidates(
    sources: Mapping[str, Source], weights: Mapping[str, Weights], failures: Sequence[Failure], clues: Clues
) -> list[Candidate]:
    """Ranked edits; equal ones once, ones that change nothing left out."""
    found: dict[tuple[str, tuple[object, ...]], tuple[float, Candidate]] = {}
    for region, lines in suspects(sources, weights, failures):
        top = max(lines.values())
        for operator in OPERATORS:
            for candidate in operator(region, clues):
                weight = lines.get(candidate.line) or _near(lines, candidate.line, top)
                score = candidate.prior * weight * (_urgency(region, candidate, clues) if weight else 1.0)
                key = _key(region.source, candidate) if weight else None
                if key is not None and (key not in found or found[key][0] < score):
                    found[key] = (score, candidate)
    ranked = sorted(found.values(), key=lambda pair: -pair[0])
    return [candidate for _, candidate in ranked[:MAX_CANDIDATES]]


def _near(lines: Weights, line: int, top: float) -> float:
    """Weight of a line that no failing test ran: small next to one that was run (a branch not taken), else none."""
    return 0.25 * top if any(near in lines for near in range(line - 3, line + 2)) else 0.0


def _key(source: Source, candidate: Candidate) -> tuple[str, tuple[object, ...]] | None:
    """What the edit makes of its lines, so that two ways to the same text count once; None where it changes nothing."""
    start = source.text.rfind("\n", 0, candidate.replacements[0].start) + 1
    end = source.text.find("\n", candidate.replacements[-1].end)
    end = len(source.text) if end < 0 else end
    changed = apply(source.text[:end], candidate.replacements)[start:]
    return None if changed == source.text[start:end] else (source.path, (start, end, changed))


def suspects(
    sources: Mapping[str, Source], weights: Mapping[str, Weights], failures: Sequence[Failure]
) -> list[tuple[Region, Weights]]:
    """Regions to search with the weights of their lines, the most suspected first."""
    found: list[tuple[Region, Weights]] = []
    for path, lines in weights.items():
        source = sources.get(path)
        if source is None:
            continue
        functions = [(region, along_the_flow(region, lines, failures)) for region in source.regions[:-1]]
        inner = [(region, _without_inner(region, own)) for region, own in functions]
        chosen = [(region, own) for region, own in inner if own]
        found.extend(chosen)
        module = _module_weights(source, lines, chosen)
        if module:
            found.append((source.regions[-1], module))
    found.sort(key=lambda pair: (-max(pair[1].values()), pair[0].source.path, pair[0].first))
    return found[:MAX_REGIONS]


def _without_inner(region: Region, lines: Weights) -> Weights:
    """Lines of functions inside this one belong to those."""
    inside = [node for node in region.nodes if isinstance(node, FunctionNode)]
    taken = {line for node in inside for line in range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)}
    own = {line: weight for line, weight in lines.items() if line not in taken}
    if own and not region.is_module:
        # the header carries the defaults; it runs at import, so coverage does not show it
        own.setdefault(region.node.lineno, 0.5 * max(own.values()))  # type: ignore[union-attr]
    return own


def _module_weights(source: Source, lines: Weights, functions: Sequence[tuple[Region, Weights]]) -> Weights:
    """Lines outside of functions: those that failing tests ran, and definitions that suspected functions use."""
    taken = {line for region in source.regions[:-1] for line in range(region.first, region.last + 1)}
    own = {line: weight * 0.5 for line, weight in lines.items() if line not in taken}
    used: dict[str, float] = {}
    for region, weights in functions:
        for node in region.nodes:
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if name is not None:
                used[name] = max(used.get(name, 0.0), max(weights.values()))
        if region.owner is not None:
            used[region.owner.name] = max(used.get(region.owner.name, 0.0), max(weights.values()))
    for statement in source.regions[-1].statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            weight = max((used.get(name, 0.0) for name in names), default=0.0) * _OUTSIDE
            for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
                if weight:
                    own[line] = max(own.get(line, 0.0), weight)
        elif isinstance(statement, FunctionNode | ast.ClassDef) and used.get(statement.name):
            own.setdefault(statement.lineno, used[statement.name] * _OUTSIDE)
    return own


def is_cold(source: Source, candidate: Candidate, at_import: frozenset[int]) -> bool:
    """Whether an edit takes effect only when its file runs anew: outside of bodies, or in one that import runs."""
    for item in candidate.replacements:
        line = source.line_of(item.start)
        if item.start == item.end and item.text.startswith((" ", "\t", "\n")) and source.region_at(line).is_module:
            line -= 1  # lines that are added at the end of a body
        region = source.region_at(line)
        if region.is_module or not isinstance(region.node, FunctionNode):
            return True
        outer = [other for other in source.regions[:-1] if other.first <= line <= other.last]
        bodies = [range(other.node.body[0].lineno, other.last + 1) for other in outer]
        if not any(line in body for body in bodies) or at_import & set(
            range(region.node.body[0].lineno, region.last + 1)
        ):
            return True
    return False


_MOVES, _BESIDE = 5.0, 0.5
"""How much likelier an edit is that changes what decides on the end, and one that has nothing to do with it."""


def _urgency(region: Region, candidate: Candidate, clues: Clues) -> float:
    """How much likelier an edit is that bears on a loop or recursion without end; 1.0 where no test hangs."""
    if clues.hangs:
        return _of_loop(region, candidate)
    if clues.has_error("RecursionError"):
        return _of_recursion(region, candidate)
    return 1.0


def _of_loop(region: Region, candidate: Candidate) -> float:
    loops = [node for node in region.nodes if isinstance(node, ast.While)]
    around = [node for node in loops if node.lineno <= candidate.line <= (node.end_lineno or node.lineno)]
    if not around:
        return _of_recursion(region, candidate) if region.is_recursive else _BESIDE
    texts = [item.text for item in candidate.replacements]
    for loop in around:
        if loop.test.lineno <= candidate.line <= (loop.test.end_lineno or candidate.line):
            return _MOVES / 2
        for name in _deciding(loop):
            assigned = rf"(?<![\w.]){re.escape(name)}\s*([-+*/%|&]|//|<<|>>)?=(?!=)"
            line = region.source.lines[candidate.line - 1]
            if any(re.search(assigned, text) for text in texts) or re.search(assigned, line):
                return _MOVES
    return 1.0


def _deciding(loop: ast.While) -> list[str]:
    """Names that the loop's end hangs on: those of its test, and of tests ahead of a `break` or `return`."""
    tests: list[ast.AST] = [loop.test]
    tests += [
        node.test
        for node in ast.walk(loop)
        if isinstance(node, ast.If) and any(isinstance(item, ast.Break | ast.Return) for item in node.body)
    ]
    return list(dict.fromkeys(node.id for test in tests for node in ast.walk(test) if isinstance(node, ast.Name)))


def _of_recursion(region: Region, candidate: Candidate) -> float:
    calls = [node for node in region.nodes if region.is_self_call(node)]
    inside = any(
        start <= item.start and item.end <= end
        for node in calls
        for start, end in [region.source.span(node)]
        for item in candidate.replacements
    )
    return _MOVES if inside else 1.0
