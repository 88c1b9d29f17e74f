"""What names may stand at a place, and what kind of thing each is likely to be; guesses from their use. Pure."""

from __future__ import annotations

import ast

from agent_core.repair.source import FunctionNode, Region, remembered

_LIST_METHODS = {"append", "extend", "insert", "sort", "reverse", "popleft", "appendleft"}
_TEXT_METHODS = {
    "lower",
    "upper",
    "strip",
    "split",
    "startswith",
    "endswith",
    "join",
    "format",
    "title",
    "isdigit",
    "splitlines",
    "encode",
}
_MAP_METHODS = {"items", "keys", "values", "get", "setdefault"}
_SET_METHODS = {"add", "discard", "union", "issubset", "difference", "intersection"}
_CALLS = {
    "len": "number",
    "int": "number",
    "float": "number",
    "sum": "number",
    "abs": "number",
    "round": "number",
    "str": "text",
    "repr": "text",
    "list": "list",
    "sorted": "list",
    "deque": "list",
    "dict": "map",
    "defaultdict": "map",
    "Counter": "map",
    "set": "set",
    "frozenset": "set",
    "bool": "truth",
    "isinstance": "truth",
    "any": "truth",
    "all": "truth",
}


def kind_of(node: ast.expr | None) -> str | None:
    """number, text, list, map, set, truth, or None where the expression does not say."""
    match node:
        case ast.Constant(value=bool()):
            return "truth"
        case ast.Constant(value=int() | float()):
            return "number"
        case ast.Constant(value=str()) | ast.JoinedStr():
            return "text"
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Dict() | ast.DictComp():
            return "map"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return "truth"
        case ast.Call(func=ast.Name(id=name)):
            return _CALLS.get(name)
        case ast.Call(func=ast.Attribute(attr=name)):
            return (
                "text"
                if name in ("lower", "upper", "strip", "join", "format", "replace", "title")
                else "list"
                if name in ("split", "splitlines")
                else None
            )
        case ast.BinOp(op=ast.Sub() | ast.Mult() | ast.Div() | ast.FloorDiv()):
            return "number"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return kind_of(left) or kind_of(right)
    return None


@remembered
def kinds(region: Region) -> dict[str, str]:
    """Name (or `self.name`) -> kind, for those whose use tells."""
    found: dict[str, str] = {}

    def note(target: ast.AST, kind: str | None) -> None:
        if kind is not None and isinstance(target, ast.Name | ast.Attribute):
            found.setdefault(ast.unparse(target), kind)

    for node in [*region.nodes, *_class_nodes(region)]:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    note(target, kind_of(value))
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                        for each, item in zip(target.elts, value.elts, strict=False):
                            note(each, kind_of(item))
            case ast.AnnAssign(target=target, value=value):
                note(target, kind_of(value))
            case ast.AugAssign(target=target, value=value):
                note(target, kind_of(value))
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                kind = (
                    "list"
                    if name in _LIST_METHODS
                    else "text"
                    if name in _TEXT_METHODS
                    else "map"
                    if name in _MAP_METHODS
                    else "set"
                    if name in _SET_METHODS
                    else None
                )
                note(value, kind)
            case ast.For(target=target, iter=ast.Call(func=ast.Name(id="range"))):
                note(target, "number")
            case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[right]):
                note(left, kind_of(right) if kind_of(right) == "number" else None)
                note(right, kind_of(left) if kind_of(left) == "number" else None)
            case ast.Subscript(value=value, slice=ast.Slice()):
                note(value, "list")
            case ast.arg(arg=name, annotation=ast.Name(id=kind)):
                found.setdefault(
                    name,
                    {
                        "int": "number",
                        "float": "number",
                        "str": "text",
                        "list": "list",
                        "dict": "map",
                        "set": "set",
                        "bool": "truth",
                    }.get(kind, "object"),
                )
    return found


def _class_nodes(region: Region) -> list[ast.AST]:
    """Assignments of the class's `__init__`, which say what its attributes are."""
    if region.owner is None or region.name == "__init__":
        return []
    for item in region.owner.body:
        if isinstance(item, FunctionNode) and item.name == "__init__":
            return [node for node in ast.walk(item) if isinstance(node, ast.Assign | ast.AnnAssign)]
    return []


@remembered
def first_lines(region: Region) -> dict[str, int]:
    """Name -> line from which it may be read: its parameter's or first assignment's."""
    lines = dict.fromkeys(region.parameters, region.first)
    for node in region.nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            lines.setdefault(node.id, node.lineno)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            lines.setdefault(node.name, node.lineno)
    return lines


def in_comprehension(region: Region, node: ast.AST) -> set[str]:
    """Names that comprehensions around a node bind."""
    found: set[str] = set()
    current = region.source.parents.get(node)
    while current is not None and not isinstance(current, ast.stmt):
        if isinstance(current, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            for part in current.generators:
                found |= {item.id for item in ast.walk(part.target) if isinstance(item, ast.Name)}
        elif isinstance(current, ast.Lambda):
            found |= {item.arg for item in current.args.args}
        current = region.source.parents.get(current)
    return found


@remembered
def comprehension_names(region: Region) -> frozenset[str]:
    """Names that only comprehensions of the region bind; they mean nothing outside of them."""
    inside: set[str] = set()
    for node in region.nodes:
        if isinstance(node, ast.comprehension):
            inside |= {item.id for item in ast.walk(node.target) if isinstance(item, ast.Name)}
    outside = {
        item.id
        for node in region.nodes
        if isinstance(node, ast.stmt)
        for child in ast.iter_child_nodes(node)
        if isinstance(child, ast.expr)
        for item in _stored(child)
    }
    return frozenset(inside - outside - set(region.parameters))


def _stored(node: ast.expr) -> list[ast.Name]:
    if isinstance(node, ast.Name):
        return [node] if isinstance(node.ctx, ast.Store) else []
    if isinstance(node, ast.Tuple | ast.List):
        return [name for item in node.elts for name in _stored(item)]
    return _stored(node.value) if isinstance(node, ast.Starred) else []


def readable(region: Region, node: ast.AST) -> list[str]:
    """Names that can be read at a node, the region's own first, then those of the functions around it."""
    line = getattr(node, "lineno", region.first)
    in_loop = region.source.loop_of(node) is not None
    bound = in_comprehension(region, node)
    hidden = comprehension_names(region) - bound
    own = [name for name, first in first_lines(region).items() if (first <= line or in_loop) and name not in hidden]
    return list(dict.fromkeys([*sorted(bound), *own, *enclosing(region)]))


@remembered
def enclosing(region: Region) -> tuple[str, ...]:
    """Names of the functions around a nested one."""
    found: list[str] = []
    for other in region.source.regions[:-1]:
        if other is not region and other.first <= region.first and region.last <= other.last:
            found.extend(other.locals)
    return tuple(dict.fromkeys(found))


@remembered
def attributes_of_self(region: Region) -> dict[str, list[str]]:
    """`data` and `methods` of the class that a method belongs to."""
    data: dict[str, None] = {}
    methods: dict[str, None] = {}
    if region.owner is not None:
        for item in region.owner.body:
            if isinstance(item, FunctionNode):
                is_property = any(ast.unparse(mark).endswith(("property", "setter")) for mark in item.decorator_list)
                (data if is_property else methods)[item.name] = None
            elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                data[item.target.id] = None
        for node in ast.walk(region.owner):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "self"
                and node.attr not in methods
            ):
                data[node.attr] = None
    return {"data": list(data), "methods": list(methods)}


def may_be_number(region: Region, place: ast.expr) -> bool:
    """Whether nothing speaks against a number there."""
    if isinstance(place, ast.Name | ast.Attribute):
        return kinds(region).get(ast.unparse(place)) in (None, "number")
    if isinstance(place, ast.Call):
        return kind_of(place) in (None, "number")
    if isinstance(place, ast.Subscript):
        return not isinstance(place.slice, ast.Slice)
    return isinstance(place, ast.BinOp) and kind_of(place) in (None, "number")


def numbers(region: Region, place: ast.expr) -> list[str]:
    """Names and short items of the function that may be numbers too."""
    found = [
        name
        for name in readable(region, place)
        if name not in ("self", "cls") and kinds(region).get(name) in (None, "number")
    ]
    for node in region.nodes:
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Load):
            text = region.source.segment(node)
            called = isinstance(parent := region.source.parents[node], ast.Call) and parent.func is node
            if len(text) <= 24 and "\n" not in text and not called:
                found.append(text)
    return list(dict.fromkeys(found))[:14]
