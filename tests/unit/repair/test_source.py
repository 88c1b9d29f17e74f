"""Text and tree of a file: offsets, regions, blocks."""

from __future__ import annotations

import ast

import pytest

from agent_core.repair.source import Source

TEXT = '''"""Täst."""

LIMIT = 3


def outer(größe, *rest, key=None):
    """Doc."""
    naïve = "ü"; other = größe + LIMIT

    def inner(value):
        return value * größe

    for item in rest:
        if item:
            continue
        elif key:
            other += inner(item)
    return other


class Box:
    @property
    def area(self):
        return self.width * self.height

    def grow(self, by):
        self.grow(by - 1)
'''


@pytest.fixture
def source() -> Source:
    return Source("pkg/box.py", TEXT)


def test_every_node_has_its_own_text(source: Source) -> None:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.expr) and not isinstance(node, ast.Slice):
            assert ast.dump(ast.parse(source.segment(node), mode="eval").body) == ast.dump(
                ast.parse(ast.unparse(node), mode="eval").body
            )


def test_regions_are_functions_then_the_module(source: Source) -> None:
    assert [region.qualname for region in source.regions] == [
        "outer",
        "outer.inner",
        "Box.area",
        "Box.grow",
        "<module>",
    ]


def test_region_at_is_the_innermost_one(source: Source) -> None:
    assert source.region_at(11).qualname == "outer.inner"
    assert source.region_at(13).qualname == "outer"
    assert source.region_at(22).qualname == "Box.area", "a decorator belongs to its function"
    assert source.region_at(3).is_module


def test_region_knows_its_names(source: Source) -> None:
    outer = source.regions[0]
    assert outer.parameters == ["größe", "key", "rest"]
    assert outer.locals == ["größe", "key", "rest", "naïve", "other", "item"]
    assert not any(isinstance(node, ast.Name) and node.id == "value" for node in outer.nodes)


def test_body_leaves_the_docstring_out(source: Source) -> None:
    assert isinstance(source.regions[0].body[0], ast.Assign)
    assert isinstance(source.regions[-1].body[0], ast.Assign)


def test_recursion_through_self(source: Source) -> None:
    assert [region.is_recursive for region in source.regions] == [False, False, False, True, False]


def test_blocks_and_loops(source: Source) -> None:
    loop = next(node for node in source.regions[0].nodes if isinstance(node, ast.For))
    branch = loop.body[0]
    assert isinstance(branch, ast.If)
    assert source.block_of(branch) == loop.body
    assert source.block_of(branch.orelse[0]) == branch.orelse
    assert source.loop_of(branch.orelse[0]) is loop
    assert source.loop_of(loop) is None
    assert not source.is_elif(branch)
    assert source.is_elif(branch.orelse[0])


def test_line_starts(source: Source) -> None:
    for number, line in enumerate(source.lines, 1):
        at = source.line_start(number)
        assert source.text[at : at + len(line)] == line
        assert source.line_of(at) == number
