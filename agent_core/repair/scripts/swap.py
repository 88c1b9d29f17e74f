"""Puts edited code into modules that are loaded already, so that trying an edit needs no new import.

Bodies of functions are exchanged in place. For edits elsewhere the module runs anew beside the old one, and what came
out is moved over: code, defaults, class attributes, constants, also where other modules have imported them by name.
"""

# Sent as text to interpreters that may be older: short beats modern.
# ruff: noqa: B905, PTH118

from __future__ import annotations

import gc
import os
import sys
import types
from typing import Any

from agent_core.repair.scripts import common
from agent_core.repair.scripts.common import changed_text, read_text

Place = tuple[Any, ...]
_OWN = ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__")


def code_tree(code: types.CodeType, path: Place = ()) -> dict[Place, types.CodeType]:
    """Code objects by their place: names from the module inwards, with a count among namesakes."""
    found = {path: code}
    seen: dict[str, int] = {}
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            seen[item.co_name] = seen.get(item.co_name, 0) + 1
            found.update(code_tree(item, (*path, (item.co_name, seen[item.co_name]))))
    return found


class Swapper:
    def __init__(self, paths: list[str]) -> None:
        self.texts = {path: read_text(os.path.join(common.BASE, path))[0] for path in paths}
        self.trees = {path: code_tree(self._compiled(path, text)) for path, text in self.texts.items()}
        self.functions: dict[tuple[str, Place], list[Any]] = {}
        # by the code itself: several lambdas may share a name and a line
        places = {code: (path, place) for path, tree in self.trees.items() for place, code in tree.items()}
        files = {os.path.join(common.BASE, path) for path in paths}
        for function in gc.get_objects():
            if isinstance(function, types.FunctionType) and os.path.realpath(function.__code__.co_filename) in files:
                key = places.get(function.__code__)
                if key is not None:
                    self.functions.setdefault(key, []).append(function)

    def _compiled(self, path: str, text: str) -> types.CodeType:
        return compile(text, os.path.join(common.BASE, path), "exec", dont_inherit=True)

    def swap(self, edits: list[Any], whole_modules: bool) -> bool:
        """Whether the edits could be put in place."""
        for path in {edit[0] for edit in edits}:
            text = changed_text(self.texts[path], [edit[1:] for edit in edits if edit[0] == path])
            code = self._compiled(path, text)
            done = run_anew(os.path.join(common.BASE, path), code) if whole_modules else self._bodies(path, code)
            if not done:
                return False
        return True

    def _bodies(self, path: str, code: types.CodeType) -> bool:
        new = code_tree(code)
        for place in self.trees[path]:
            for function in self.functions.get((path, place), ()):
                body = new.get(place)
                if body == function.__code__:
                    continue
                if body is None or len(body.co_freevars) != len(function.__code__.co_freevars):
                    return False
                function.__code__ = body
        return True


def project_modules() -> list[Any]:
    found = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and os.path.realpath(file).startswith(common.BASE + os.sep):
            found.append(module)
    return found


def run_anew(full: str, code: types.CodeType) -> bool:
    """Runs a module's new code beside the old one and moves the result over."""
    modules = project_modules()
    module = next((item for item in modules if os.path.realpath(item.__file__) == full), None)
    if module is None:
        return False
    old = module.__dict__
    new = {name: old[name] for name in old if name.startswith("__") and name.endswith("__")}
    exec(code, new)
    for name in list(new):
        if name.startswith("__"):
            continue
        before, value = old.get(name), new[name]
        if isinstance(before, type) and isinstance(value, type) and value.__module__ == module.__name__:
            move_class(before, value, old)
        elif not move_function(before, value, old):
            old[name] = value
            for other in modules:
                if other is not module and name in other.__dict__ and other.__dict__[name] is before:
                    other.__dict__[name] = value
    return True


def move_function(before: Any, value: Any, names: dict[str, Any]) -> bool:
    """Gives a loaded function the code and defaults of its new form, through wrappers; whether that was possible."""
    if isinstance(before, (staticmethod, classmethod)) and isinstance(value, (staticmethod, classmethod)):
        return move_function(before.__func__, value.__func__, names)
    if isinstance(before, property) and isinstance(value, property):
        pairs = [(before.fget, value.fget), (before.fset, value.fset)]
        return all(one is None or move_function(one, two, names) for one, two in pairs)
    if hasattr(before, "cache_clear") and hasattr(value, "__wrapped__"):
        before.cache_clear()
        return move_function(before.__wrapped__, value.__wrapped__, names)
    if not isinstance(before, types.FunctionType) or not isinstance(value, types.FunctionType):
        return False
    if len(before.__code__.co_freevars) != len(value.__code__.co_freevars):
        return False
    for one, two in zip(before.__closure__ or (), value.__closure__ or ()):
        try:
            move_function(one.cell_contents, two.cell_contents, names)
        except ValueError:
            continue  # an empty cell
    before.__code__, before.__defaults__, before.__kwdefaults__ = (
        value.__code__,
        value.__defaults__,
        value.__kwdefaults__,
    )
    return True


def move_class(before: Any, value: Any, names: dict[str, Any]) -> None:
    """Makes a loaded class equal to its new form."""
    for name, item in vars(value).items():
        if name in _OWN or move_function(vars(before).get(name), item, names):
            continue
        if isinstance(item, types.FunctionType):
            cells = tuple(
                types.CellType(before) if is_cell_of(cell, value) else cell for cell in item.__closure__ or ()
            )
            item = types.FunctionType(item.__code__, names, item.__name__, item.__defaults__, cells or None)
        try:
            setattr(before, name, item)
        except (AttributeError, TypeError):
            continue  # a slot
    for name in set(vars(before)) - set(vars(value)) - set(_OWN):
        try:
            delattr(before, name)
        except (AttributeError, TypeError):
            continue


def is_cell_of(cell: types.CellType, value: Any) -> bool:
    try:
        return cell.cell_contents is value
    except ValueError:
        return False
