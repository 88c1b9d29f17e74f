"""Shared state: mutable defaults, input that is changed, aliases where copies are meant, late binding."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import ATOM, Candidate, Clues, Maker, is_preamble, operand, replace
from agent_core.repair.operators.scope import kinds
from agent_core.repair.source import FunctionNode, Region, Replacement, Source

_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)
_CHANGING = {
    "append",
    "extend",
    "insert",
    "sort",
    "reverse",
    "pop",
    "remove",
    "clear",
    "update",
    "add",
    "discard",
    "setdefault",
    "popitem",
    "popleft",
}


def mutation(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "mutation")
    if isinstance(region.node, FunctionNode):
        yield from _defaults(maker, region.node)
        yield from _input_copied(maker)
    else:
        yield from _class_attributes(maker)
    for node in region.nodes:
        yield from _aliases(maker, node)


def _is_mutable(node: ast.expr | None) -> bool:
    return isinstance(node, _MUTABLE) or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("list", "dict", "set", "defaultdict")
    )


def _defaults(maker: Maker, node: FunctionNode) -> Iterator[Candidate]:
    """`def f(x=[])`: one list for all calls."""
    source, arguments = maker.source, node.args
    named = [*zip(reversed([*arguments.posonlyargs, *arguments.args]), reversed(arguments.defaults), strict=False)]
    named += [
        (item, default)
        for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    ]
    body = maker.region.body
    for argument, default in named:
        if not _is_mutable(default) or not body or not maker.stands_alone(body[-1]):
            continue
        at = source.line_start(body[0].lineno)
        indent = source.indent_of(body[0].lineno)
        anew = f"{argument.arg} = {source.segment(default)}"
        lines = f"{indent}if {argument.arg} is None:\n{indent}{source.indent_unit}{anew}\n"
        edits = [Replacement(*source.span(default), "None"), Replacement(at, at, lines)]
        reason = f"the default of `{argument.arg}` is shared between calls; now each gets its own: `{anew}`"
        yield maker.edit(edits, body[0].lineno, reason, 0.9)


def _input_copied(maker: Maker) -> Iterator[Candidate]:
    """A copy of an argument ahead of everything that changes it."""
    region, source = maker.region, maker.source
    if (
        not region.body
        or not maker.stands_alone(region.body[0])
        and not isinstance(region.body[0], ast.For | ast.If | ast.While | ast.With)
    ):
        return
    changed = _changed(region)
    for name in region.parameters:
        if name in ("self", "cls"):
            continue
        kind = kinds(region).get(name)
        copies = {"list": ("list({})",), "map": ("dict({})",), "set": ("set({})",)}.get(
            kind or "", ("list({})", "dict({})", "{}.copy()")
        )
        prior = 0.45 if name in changed else 0.06
        for copy in copies:
            text = f"{name} = {copy.format(name)}"
            yield maker.insert_before(
                region.body[0], [text], f"the caller's `{name}` is changed; a copy is meant", prior
            )
        yield from _deep(maker, name, prior * 0.5)
    del source


def _deep(maker: Maker, name: str, prior: float) -> Iterator[Candidate]:
    if any(
        isinstance(node, ast.Import) and any(item.name == "copy" for item in node.names)
        for node in maker.source.tree.body
    ):
        text = f"{name} = copy.deepcopy({name})"
        yield maker.insert_before(
            maker.region.body[0], [text], f"the caller's `{name}` is changed; a copy is meant", prior
        )


def _changed(region: Region) -> set[str]:
    """Names whose object the region changes in place."""
    found: set[str] = set()
    for node in region.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            found.add(_root(node.func.value))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(_root(node.value))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Call):
            found |= {item.id for item in node.args if isinstance(item, ast.Name)}
    return found


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _aliases(maker: Maker, node: ast.AST) -> Iterator[Candidate]:
    source = maker.source
    match node:
        case ast.Assign(targets=[target], value=ast.Name() | ast.Attribute() | ast.Subscript() as value):
            shared = (
                isinstance(target, ast.Attribute)
                or _root(target) in _changed(maker.region)
                or _root(value) in _changed(maker.region)
            )
            yield from _copies(maker, value, 0.35 if shared else 0.08)
        case ast.AnnAssign(value=ast.Name() | ast.Attribute() as value):
            yield from _copies(maker, value, 0.15)
        case ast.Return(value=ast.Attribute() as value):
            yield from _copies(maker, value, 0.25)
        case ast.Return(value=ast.Name() as value):
            yield from _copies(maker, value, 0.08)
        case ast.Call(func=ast.Attribute(attr="append" | "add"), args=[ast.Name() | ast.Attribute() as value]):
            yield from _copies(maker, value, 0.4 if _root(value) in _changed(maker.region) else 0.1)
        case ast.For(iter=ast.Name() | ast.Attribute() as value):
            yield from _copies(
                maker, value, 0.35 if ast.unparse(value).split(".")[0] in _changed(maker.region) else 0.05
            )
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="items" | "keys" | "values")) as value):
            yield maker.expression(
                value, f"list({source.segment(value)})", "what is looped over changes meanwhile", 0.25
            )
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name() as thing, attr="sort" | "reverse" as word)) as call
        ):
            rest = ", ".join(source.segment(item) for item in call.keywords)
            made = f"sorted({thing.id}{', ' + rest if rest else ''})" if word == "sort" else f"{thing.id}[::-1]"
            edit = Replacement(*source.span(node), f"{thing.id} = {made}")
            yield maker.edit(
                [edit],
                node.lineno,
                f"`{thing.id}` is changed in place: `{thing.id} = {made}` leaves the original alone",
                0.4,
            )
        case ast.AugAssign(target=ast.Name() as thing, op=ast.Add(), value=value):
            made = f"{thing.id} = {thing.id} + {operand(source, value, 13)}"
            yield maker.edit(
                [Replacement(*source.span(node), made)],
                node.lineno,
                f"`{thing.id}` is changed in place: `{made}` makes a new one",
                0.15,
            )
        case ast.BinOp(left=ast.List(elts=[inner]), op=ast.Mult(), right=count) if _is_mutable(inner) or isinstance(
            inner, ast.BinOp
        ):
            made = f"[{source.segment(inner)} for _ in range({source.segment(count)})]"
            yield maker.expression(node, made, "all rows are one and the same list", 0.9)
        case ast.Call(func=ast.Attribute(value=owner, attr="fromkeys"), args=[keys, value]) if _is_mutable(value):
            yield maker.expression(
                node,
                f"{{key: {source.segment(value)} for key in {source.segment(keys)}}}",
                "all keys share one value",
                0.9,
            )
        case ast.Call(func=ast.Name(id="list"), args=[ast.Name() | ast.Attribute() as inner]):
            yield from _deeper(maker, node, source.segment(inner))
        case ast.Call(func=ast.Name(id="dict"), args=[ast.Name() | ast.Attribute() as inner]):
            made = f"{{key: list(value) for key, value in {source.segment(inner)}.items()}}"
            yield maker.expression(node, made, "the copy shares its inner parts", 0.3)
            yield from _deeper(maker, node, source.segment(inner), rows=False)
        case ast.Subscript(
            value=ast.Name() | ast.Attribute() as inner, slice=ast.Slice(lower=None, upper=None, step=None)
        ):
            yield from _deeper(maker, node, source.segment(inner))
        case ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute() as inner, attr="copy"), args=[]):
            yield from _deeper(maker, node, source.segment(inner))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="copy") as owner, attr="copy")):
            yield maker.expression(node.func, f"{owner.id}.deepcopy", "the copy shares its inner parts", 0.6)
        case ast.Lambda():
            yield from _late_binding(maker, node)
        case _:
            return


def _deeper(maker: Maker, node: ast.expr, inner: str, *, rows: bool = True) -> Iterator[Candidate]:
    """A copy of the outer container only, where its parts have to be copied too."""
    reason = "the copy shares its inner parts"
    if rows:
        yield maker.expression(node, f"[list(item) for item in {inner}]", reason, 0.4)
        yield maker.expression(node, f"[dict(item) for item in {inner}]", reason, 0.3)
    source = maker.source
    edits = [replace(source, node, f"copy.deepcopy({inner})")]
    imports = [item for item in source.tree.body if isinstance(item, ast.Import | ast.ImportFrom)]
    if not any(isinstance(item, ast.Import) and any(name.name == "copy" for name in item.names) for item in imports):
        plain = next((item for item in source.tree.body if not is_preamble(item)), source.tree.body[0])
        at = source.line_start(plain.lineno)
        edits.insert(0, Replacement(at, at, "import copy\n" if imports else "import copy\n\n"))
    yield maker.edit(edits, node.lineno, f"{reason}: `copy.deepcopy({inner})` copies them as well", 0.3)


def _copies(maker: Maker, value: ast.expr, prior: float) -> Iterator[Candidate]:
    text = maker.source.segment(value)
    kind = kinds(maker.region).get(ast.unparse(value))
    if kind in ("number", "text", "truth"):
        return
    copies = {"list": ("list({})",), "map": ("dict({})",), "set": ("set({})",)}.get(
        kind or "", ("list({})", "dict({})", "{}.copy()", "set({})")
    )
    for copy in copies:
        yield maker.expression(
            value,
            copy.format(operand(maker.source, value, ATOM) if copy.startswith("{}") else text),
            "the object is shared; a copy is meant",
            prior,
        )
    if isinstance(value, ast.Name | ast.Attribute) and kind in ("list", None):
        yield maker.expression(
            value, f"[list(item) for item in {text}]", "the rows are shared; copies are meant", prior * 0.3
        )


def _late_binding(maker: Maker, node: ast.Lambda) -> Iterator[Candidate]:
    """A lambda made in a loop that reads the loop's variable."""
    source = maker.source
    loop = source.loop_of(node)
    parents = [source.parents.get(node)]
    while parents[-1] is not None and not isinstance(parents[-1], ast.stmt):
        parents.append(source.parents.get(parents[-1]))
    targets = [loop.target] if isinstance(loop, ast.For) else []
    targets += [
        part.target
        for parent in parents
        if isinstance(parent, ast.ListComp | ast.DictComp)
        for part in parent.generators
    ]
    own = {item.arg for item in node.args.args}
    for name in dict.fromkeys(item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)):
        if name not in own and any(isinstance(item, ast.Name) and item.id == name for item in ast.walk(node.body)):
            start = source.span(node)[0] + len("lambda")
            lead = ", " if node.args.args else " "
            at = source.span(node.args.args[-1])[1] if node.args.args else start
            yield maker.edit(
                [Replacement(at, at, f"{lead}{name}={name}")],
                node.lineno,
                f"the lambda reads `{name}` only when it is called; it is bound now",
                0.8,
            )


def _class_attributes(maker: Maker) -> Iterator[Candidate]:
    """A mutable class attribute that every instance shares moves into `__init__`."""
    source = maker.source
    for owner in [node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)]:
        first = next((item for item in owner.body if isinstance(item, FunctionNode) and item.name == "__init__"), None)
        for item in owner.body:
            target = (
                item.targets[0]
                if isinstance(item, ast.Assign)
                else item.target
                if isinstance(item, ast.AnnAssign)
                else None
            )
            value = item.value if isinstance(item, ast.Assign | ast.AnnAssign) else None
            if not isinstance(target, ast.Name) or value is None or not _is_mutable(value) or len(owner.body) < 2:
                continue
            yield from _into_init(maker, source, owner, first, item, target.id, value)


def _into_init(
    maker: Maker,
    source: Source,
    owner: ast.ClassDef,
    first: FunctionNode | None,
    item: ast.stmt,
    name: str,
    value: ast.expr,
) -> Iterator[Candidate]:
    start, end = source.line_start(item.lineno), source.line_start((item.end_lineno or item.lineno) + 1)
    text = f"self.{name} = {source.segment(value)}\n"
    unit = source.indent_unit
    if first is not None:
        at = source.line_start(first.body[0].lineno)
        edits = [Replacement(start, end, ""), Replacement(at, at, source.indent_of(first.body[0].lineno) + text)]
    else:
        indent = source.indent_of(item.lineno)
        edits = [Replacement(start, end, f"{indent}def __init__(self):\n{indent}{unit}{text}")]
    yield maker.edit(
        edits, item.lineno, f"`{name}` is shared by all instances of `{owner.name}`; each gets its own", 0.9
    )
