"""A statement that is missing: an item that is not noted, a counter that is not moved, a method that is not called."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, brief
from agent_core.repair.operators.scope import attributes_of_self, kinds, readable
from agent_core.repair.source import FunctionNode, Region, remembered

_ADDING = {"set": ("add", "update"), "list": ("append", "extend"), "map": ("update",)}
MAX_PER_PLACE = 60


def missing_statements(region: Region, clues: Clues) -> Iterator[Candidate]:
    if region.is_module or not region.body:
        return
    maker = Maker(region, "missing statement")
    donors = _donors(region)
    hangs = clues.has_error("TimeIsUp", "TimeoutError", "RecursionError")
    for statement, after, weight in _places(maker):
        if hangs and region.source.loop_of(statement) is not None:
            weight *= 2  # what would end the loop may be missing
        options: dict[str, float] = {}
        for text, prior in [*_own(region, statement), *donors]:
            options[text] = max(prior, options.get(text, 0.0))
        following = _neighbour(region, statement, after)
        ranked = sorted(options.items(), key=lambda pair: -pair[1])[:MAX_PER_PLACE]
        for text, prior in ranked:
            if text in following or not _names_known(region, statement, text):
                continue
            insert = maker.insert_after if after else maker.insert_before
            yield insert(statement, [text], f"a statement is missing: `{brief(text)}`", min(prior * weight, 1.0))
    yield from _initialiser(maker)
    yield from _last_item(maker)


def _places(maker: Maker) -> Iterator[tuple[ast.stmt, bool, float]]:
    """(statement, after it or before, weight): ends and starts of blocks first, then in between."""
    region = maker.region
    for statement in region.statements:
        if not maker.stands_alone(statement) and not isinstance(
            statement, ast.If | ast.For | ast.While | ast.With | ast.Try
        ):
            continue
        if region.source.is_elif(statement) or (statement in region.node.body and statement not in region.body):
            continue
        block = region.source.block_of(statement)
        leaves = isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue)
        in_loop = region.source.loop_of(statement) is not None
        if statement is block[0]:
            yield statement, False, 0.9 if in_loop else 0.7
        if not leaves:
            yield statement, True, (0.95 if in_loop else 0.8) if statement is block[-1] else 0.7
        elif statement is block[-1] and statement is not block[0]:
            yield statement, False, 0.7


def _neighbour(region: Region, statement: ast.stmt, after: bool) -> set[str]:
    """Texts of the statements around the place: the same again is no candidate."""
    block = region.source.block_of(statement)
    at = block.index(statement)
    return {ast.unparse(item) for item in block[max(at - 1, 0) : at + 2]}


def _own(region: Region, statement: ast.stmt) -> Iterator[tuple[str, float]]:
    """Statements made of the names at hand."""
    known = kinds(region)
    names = [name for name in readable(region, statement) if name not in ("self", "cls")]
    things = [*names, *(f"self.{name}" for name in attributes_of_self(region)["data"])]
    loop = region.source.loop_of(statement)
    running = (
        [item.id for item in ast.walk(loop.target) if isinstance(item, ast.Name)] if isinstance(loop, ast.For) else []
    )
    assigned = {
        target.id
        for node in region.nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for thing in things:
        kind = known.get(thing)
        for method in _ADDING.get(kind or "", ()):
            for value in names:
                if value != thing:
                    near = value in running or (loop is not None and value in assigned)
                    usual = 1.0 if method in ("add", "append") or kind == "map" else 0.6
                    yield f"{thing}.{method}({value})", (0.32 if near else 0.22) * usual
        if kind == "map":
            for key in names[:6]:
                for value in names[:6]:
                    if key != value and thing not in (key, value):
                        yield f"{thing}[{key}] = {value}", 0.1
        if kind == "truth" and thing not in region.parameters:
            yield f"{thing} = True", 0.22
            yield f"{thing} = False", 0.2
        if kind == "number" and thing not in region.parameters:
            yield f"{thing} += 1", 0.22
            yield f"{thing} -= 1", 0.14
            if thing.startswith("self.") or thing in assigned:
                yield f"{thing} = 0", 0.15
            for value in names:
                if value != thing and known.get(value) in ("number", None):
                    yield f"{thing} += {value}", 0.12
        if kind in ("list", "map", "set") and (thing.startswith("self.") or loop is not None):
            yield f"{thing}.clear()", 0.06
        if kind == "list" and thing not in region.parameters and loop is not None:
            yield f"{thing} = []", 0.2
        if kind == "text" and thing in assigned and loop is not None:
            yield f'{thing} = ""', 0.2
    for target in dict.fromkeys(name for name in region.locals if name in assigned):
        for value in names:
            if (
                value != target
                and target in names
                and (known.get(target) is None or known.get(value) is None or known[target] == known[value])
            ):
                yield f"{target} = {value}", 0.18 if loop is not None else 0.08
    for name in attributes_of_self(region)["data"]:
        for value in names:
            if value.strip("_") == name.strip("_"):
                yield f"self.{name} = {value}", 0.35
    for method in attributes_of_self(region)["methods"]:
        if not method.startswith("__") and method != region.name and _takes_nothing(region, method):
            yield f"self.{method}()", 0.25


def _takes_nothing(region: Region, name: str) -> bool:
    owner = region.owner
    body = owner.body if owner is not None else []
    return any(
        isinstance(item, FunctionNode) and item.name == name and len(item.args.args) == 1 and not item.decorator_list
        for item in body
    )


@remembered
def _donors(region: Region) -> list[tuple[str, float]]:
    """Simple statements of the same class or file that may have been meant here too."""
    found: dict[str, float] = {}
    for other in region.source.regions[:-1]:
        near = other.owner is region.owner and region.owner is not None
        for node in other.nodes:
            is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            if (
                is_call
                or isinstance(node, ast.AugAssign)
                or (isinstance(node, ast.Assign) and (near or other is region))
            ):
                text = region.source.segment(node)
                if "\n" not in text and len(text) <= 70:
                    prior = 0.18 if other is region else 0.18 if near else 0.1
                    if isinstance(node, ast.Assign) and other.name == "__init__":
                        prior = 0.06  # to start anew is seldom what is missing
                    found[text] = max(prior, found.get(text, 0.0))
    return list(found.items())


def _names_known(region: Region, statement: ast.stmt, text: str) -> bool:
    """Whether a statement reads nothing that is unknown at the place."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    known = {*readable(region, statement), *_module_names(region)}
    loads = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if "self" in loads and "self" not in region.parameters:
        return False
    inner = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} | {
        item.id
        for node in ast.walk(tree)
        if isinstance(node, ast.comprehension)
        for item in ast.walk(node.target)
        if isinstance(item, ast.Name)
    }
    changed = {
        ast.unparse(node.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    return (loads | changed) - inner <= known


@remembered
def _module_names(region: Region) -> set[str]:
    found = set(dir(builtins))
    for node in region.source.tree.body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(item.asname or item.name).split(".")[0] for item in node.names}
        elif isinstance(node, ast.Assign):
            found |= {item.id for target in node.targets for item in ast.walk(target) if isinstance(item, ast.Name)}
    return found


def _initialiser(maker: Maker) -> Iterator[Candidate]:
    """`super().__init__(…)` that a subclass forgets."""
    region = maker.region
    if region.name != "__init__" or region.owner is None or not region.owner.bases:
        return
    if any(isinstance(node, ast.Name) and node.id == "super" for node in region.nodes) or not maker.stands_alone(
        region.body[0]
    ):
        return
    names = [name for name in region.parameters if name != "self"]
    for count in range(len(names) + 1):
        text = f"super().__init__({', '.join(names[:count])})"
        yield maker.insert_before(region.body[0], [text], "the base class is not initialised", 0.5)


def _last_item(maker: Maker) -> Iterator[Candidate]:
    """What a loop has gathered last and nobody has taken: `if rest: found.append(rest)` behind the loop."""
    region = maker.region
    known = kinds(region)
    for loop in [node for node in region.nodes if isinstance(node, ast.For | ast.While)]:
        changed = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for target in [name for name in region.locals if known.get(name) == "list" and name not in changed]:
            for name in [name for name in region.locals if name in changed]:
                for test, prior in ((name, 0.2), (f"{name} > 1", 0.15 if known.get(name) in ("number", None) else 0.0)):
                    lines = [f"if {test}:", f"{region.source.indent_unit}{target}.append({name})"]
                    if prior:
                        yield maker.insert_after(
                            loop, lines, f"the last item is lost: `if {test}: {target}.append({name})`", prior
                        )
