"""Unsafe access: a key that may be missing, a divisor that may be zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent_core.repair.operators.base import Candidate, Clues, Maker, operand
from agent_core.repair.source import Region, Replacement


def safe_access(region: Region, clues: Clues) -> Iterator[Candidate]:
    maker = Maker(region, "missing guard")
    source = region.source
    absent = 0.8 if clues.has_error("KeyError") else 0.1
    for node in region.nodes:
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            base, key = source.segment(node.value), source.segment(node.slice)
            parent = source.parents[node]
            if isinstance(node.ctx, ast.Load):
                for default, usual in (
                    ("0", 0.7),
                    ("None", 0.6),
                    ("[]", 0.6),
                    ('""', 0.4),
                    ("False", 0.3),
                    ("{}", 0.3),
                    ("1", 0.2),
                    (key, 0.3),
                    ("()", 0.2),
                    ("set()", 0.2),
                ):
                    text = f"{base}.get({key}, {default})" if default != "None" else f"{base}.get({key})"
                    yield maker.expression(node, text, "the key may be missing", absent * usual)
                if isinstance(parent, ast.Attribute) and parent.attr in ("append", "add", "extend", "update", "insert"):
                    for default in ("[]", "set()", "{}"):
                        yield maker.expression(
                            node, f"{base}.setdefault({key}, {default})", "the key may be missing", absent
                        )
            elif isinstance(parent, ast.AugAssign) and parent.target is node:
                sign = source.text[source.span(node)[1] : source.span(parent.value)[0]].strip().removesuffix("=")
                for default in ("0", "[]", '""', "1"):
                    made = f"{base}[{key}] = {base}.get({key}, {default}) {sign} {operand(source, parent.value, 13)}"
                    edit = Replacement(*source.span(parent), made)
                    yield maker.edit(
                        [edit],
                        parent.lineno,
                        f"the key may be missing: `{made}`",
                        absent * (0.9 if default == "0" else 0.4),
                    )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            by_zero = 0.7 if clues.has_error("ZeroDivisionError") else 0.06
            divisor = source.segment(node.right)
            if isinstance(node.right, ast.Constant):
                continue
            for default in ("0", "0.0", "None", "1"):
                text = f"{source.segment(node)} if {divisor} else {default}"
                yield maker.expression(
                    node, text, "the divisor may be zero", by_zero * (0.8 if default != "1" else 0.3)
                )
            yield maker.expression(node.right, f"max({divisor}, 1)", "the divisor may be zero", by_zero * 0.4)
