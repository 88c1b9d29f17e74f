"""The families of edits: each offers the right edit for a slip of its kind, and none makes text that is no Python."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from agent_core.repair.operators import OPERATORS
from agent_core.repair.operators.base import Candidate, Clues, apply, replace
from agent_core.repair.source import Source

Offer = tuple[Candidate, str]


NO_CLUES = Clues()


def offers(text: str, clues: Clues = NO_CLUES) -> list[Offer]:
    """Every candidate for a text, with the text that it makes."""
    source = Source("m.py", text)
    found = [candidate for region in source.regions for operator in OPERATORS for candidate in operator(region, clues)]
    return [(candidate, apply(source.text, candidate.replacements)) for candidate in found]


CASES = [
    ("comparison", "def f(a, b):\n    return a < b\n", "def f(a, b):\n    return a <= b\n"),
    ("comparison", "def f(a, b):\n    return a == b\n", "def f(a, b):\n    return a != b\n"),
    ("comparison", "def f(a, b):\n    return a not in b\n", "def f(a, b):\n    return a in b\n"),
    ("comparison", "def f(a, b):\n    return a - b < 2\n", "def f(a, b):\n    return abs(a - b) < 2\n"),
    ("off by one", "def f(n):\n    return list(range(n))\n", "def f(n):\n    return list(range(n + 1))\n"),
    ("off by one", "def f(x):\n    return x[len(x)]\n", "def f(x):\n    return x[len(x) - 1]\n"),
    ("off by one", "def f(x, i):\n    return x[i + 1]\n", "def f(x, i):\n    return x[i]\n"),
    (
        "off by one",
        "def f(a, b):\n    return 2 * (a if b else a)\n",
        "def f(a, b):\n    return 2 * (a if b else a - 1)\n",
    ),
    ("missing element", "def f(n):\n    return n in (11, 12)\n", "def f(n):\n    return n in (11, 12, 13)\n"),
    ("missing element", "def f(n):\n    return n in [4, 6]\n", "def f(n):\n    return n in [2, 4, 6]\n"),
    ("extra element", "KINDS = {'a', 'b', 'c'}\n", "KINDS = {'a', 'c'}\n"),
    ("operator", "def f(a, b):\n    return a + b\n", "def f(a, b):\n    return a - b\n"),
    ("operator", "def f(a, b):\n    return a - b\n", "def f(a, b):\n    return b - a\n"),
    ("operator", "def f(a, b):\n    return a + b / 2\n", "def f(a, b):\n    return (a + b) / 2\n"),
    ("operator", "def f(a, b):\n    return max(a, b)\n", "def f(a, b):\n    return max(a, b + a)\n"),
    ("operator", "def f(a, b):\n    a += b\n    return a\n", "def f(a, b):\n    a += b * a\n    return a\n"),
    ("operator", "def f(a, b):\n    a = a + b\n    return a\n", "def f(a, b):\n    a = a * 10 + b\n    return a\n"),
    ("operator", "def f(n):\n    n //= 2\n    return n\n", "def f(n):\n    n /= 2\n    return n\n"),
    ("operator", "def f(n):\n    n += 2\n    return n\n", "def f(n):\n    n = 2\n    return n\n"),
    ("operator", "def f(n):\n    n += 2\n    return n\n", "def f(n):\n    n *= 2\n    return n\n"),
    ("wrong argument", "def f(a, b):\n    return [a, b]\n", "def f(a, b):\n    return [b, a]\n"),
    ("boolean logic", "def f(a, b):\n    return a and b\n", "def f(a, b):\n    return a or b\n"),
    ("boolean logic", "def f(a):\n    if a.ok:\n        return 1\n", "def f(a):\n    if not a.ok:\n        return 1\n"),
    ("boolean logic", "def f(a, b, c):\n    return a or b and c\n", "def f(a, b, c):\n    return (a or b) and c\n"),
    ("wrong constant", "def f(x):\n    return x * 60\n", "def f(x):\n    return x * 3600\n"),
    ("wrong constant", "def f(x):\n    return f'{x:.1f}'\n", "def f(x):\n    return f'{x:.2f}'\n"),
    ("wrong constant", "def f(flag=True):\n    return flag\n", "def f(flag=False):\n    return flag\n"),
    (
        "wrong initial value",
        "def f(x):\n    best = 0\n    for i in x:\n        if i > best:\n            best = i\n",
        "def f(x):\n    best = float('-inf')\n    for i in x:\n        if i > best:\n            best = i\n",
    ),
    ("wrong initial value", "def f(x):\n    out = []\n    return out\n", "def f(x):\n    out = [x]\n    return out\n"),
    ("wrong variable", "def f(a, b):\n    return a\n", "def f(a, b):\n    return b\n"),
    (
        "wrong variable",
        "class P:\n    def __init__(self):\n        self.x = self.y = 0\n\n    def f(self):\n        return self.x\n",
        "class P:\n    def __init__(self):\n        self.x = self.y = 0\n\n    def f(self):\n        return self.y\n",
    ),
    ("wrong variable", "def f(m):\n    return len(m)\n", "def f(m):\n    return len(m[0])\n"),
    ("wrong variable", "def f(m):\n    return len(m[0])\n", "def f(m):\n    return len(m)\n"),
    ("wrong key", "def f(d):\n    d['b'] = 1\n    return d['a']\n", "def f(d):\n    d['b'] = 1\n    return d['b']\n"),
    ("wrong call", "def f(x):\n    return min(x)\n", "def f(x):\n    return max(x)\n"),
    ("wrong call", "def f(x, y):\n    x.append(y)\n", "def f(x, y):\n    x.extend(y)\n"),
    ("wrong call", "def f(q):\n    return q.pop()\n", "def f(q):\n    return q.pop(0)\n"),
    ("wrong argument", "def f(a, b):\n    return g(a, b)\n", "def f(a, b):\n    return g(b, a)\n"),
    (
        "wrong argument",
        "def g(a, base=10):\n    return a\n\n\ndef f(a, base):\n    return g(a)\n",
        "def g(a, base=10):\n    return a\n\n\ndef f(a, base):\n    return g(a, base)\n",
    ),
    ("wrong order", "def f(x):\n    return sorted(x)\n", "def f(x):\n    return sorted(x, reverse=True)\n"),
    (
        "wrong order",
        "def f(x):\n    return sorted(x, key=lambda p: (p[0], p[1]))\n",
        "def f(x):\n    return sorted(x, key=lambda p: (p[1], p[0]))\n",
    ),
    ("missing call", "def f(t):\n    return t.strip\n", "def f(t):\n    return t.strip()\n"),
    ("missing call", "def f(t):\n    u = t\n    return u\n", "def f(t):\n    u = t.lower()\n    return u\n"),
    (
        "missing call",
        "def f(d):\n    for k, v in d:\n        pass\n",
        "def f(d):\n    for k, v in d.items():\n        pass\n",
    ),
    ("missing call", "def f(a, b):\n    a = b\n    return a\n", "def f(a, b):\n    a = max(a, b)\n    return a\n"),
    ("slice or index", "def f(x, k):\n    return x[:k]\n", "def f(x, k):\n    return x[k:]\n"),
    ("slice or index", "def f(x):\n    return x[0]\n", "def f(x):\n    return x[-1]\n"),
    ("slice or index", "def f(x, i, j):\n    return x[i][j]\n", "def f(x, i, j):\n    return x[j][i]\n"),
    ("slice or index", "def f(x):\n    for i in x:\n        pass\n", "def f(x):\n    for i in x[1:]:\n        pass\n"),
    ("recursion argument", "def f(n):\n    return f(n)\n", "def f(n):\n    return f(n - 1)\n"),
    ("recursion argument", "def f(x):\n    return [x[0]] + f(x)\n", "def f(x):\n    return [x[0]] + f(x[1:])\n"),
    ("wrong return", "def f(a):\n    b = a + 1\n    return a\n", "def f(a):\n    b = a + 1\n    return b\n"),
    ("wrong return", "def f(a):\n    b = a + 1\n", "def f(a):\n    b = a + 1\n    return b\n"),
    ("wrong return", "def f(a):\n    g(a)\n", "def f(a):\n    return g(a)\n"),
    (
        "wrong return",
        "def f(a):\n    for i in a:\n        g(i)\n        return a\n",
        "def f(a):\n    for i in a:\n        g(i)\n    return a\n",
    ),
    ("wrong return", "def f(a):\n    yield f(a)\n", "def f(a):\n    yield from f(a)\n"),
    (
        "missing else",
        "def f(a, b):\n    if a:\n        c = 1\n    return c\n",
        "def f(a, b):\n    if a:\n        c = 1\n    else:\n        c = b\n    return c\n",
    ),
    (
        "missing base case",
        "def f(n):\n    return n * f(n - 1)\n",
        "def f(n):\n    if n == 0:\n        return 1\n    return n * f(n - 1)\n",
    ),
    (
        "missing guard",
        "def f(x):\n    return sum(x) / len(x)\n",
        "def f(x):\n    if not x:\n        return 0\n    return sum(x) / len(x)\n",
    ),
    (
        "missing guard",
        "def f(x, seen):\n    for i in x:\n        seen.add(i)\n",
        "def f(x, seen):\n    for i in x:\n        if i in seen:\n            continue\n        seen.add(i)\n",
    ),
    (
        "missing guard",
        "def f(x, i):\n    while x[i]:\n        i += 1\n",
        "def f(x, i):\n    while i < len(x) and x[i]:\n        i += 1\n",
    ),
    ("missing guard", "def f(d, k):\n    return d[k]\n", "def f(d, k):\n    return d.get(k, 0)\n"),
    ("missing guard", "def f(d, k):\n    d[k] += 1\n", "def f(d, k):\n    d[k] = d.get(k, 0) + 1\n"),
    ("mutation", "def f(x=[]):\n    return x\n", "def f(x=None):\n    if x is None:\n        x = []\n    return x\n"),
    ("mutation", "def f(x):\n    x.sort()\n    return x\n", "def f(x):\n    x = sorted(x)\n    return x\n"),
    ("mutation", "def f(n):\n    return [[0] * n] * n\n", "def f(n):\n    return [[0] * n for _ in range(n)]\n"),
    (
        "mutation",
        "class C:\n    def f(self):\n        return self.x\n",
        "class C:\n    def f(self):\n        return list(self.x)\n",
    ),
    (
        "mutation",
        "def f(x):\n    return [lambda: i for i in x]\n",
        "def f(x):\n    return [lambda i=i: i for i in x]\n",
    ),
    (
        "mutation",
        "class C:\n    items = []\n\n    def __init__(self):\n        self.n = 0\n",
        "class C:\n\n    def __init__(self):\n        self.items = []\n        self.n = 0\n",
    ),
    ("statement order", "def f(a, b):\n    a = b\n    b = a\n", "def f(a, b):\n    b = a\n    a = b\n"),
    ("statement order", "def f(a, b):\n    a = b\n    b = a + b\n", "def f(a, b):\n    a, b = b, a + b\n"),
    (
        "statement order",
        "def f(x):\n    for i in x:\n        if i:\n            break\n",
        "def f(x):\n    for i in x:\n        if i:\n            continue\n",
    ),
    (
        "statement order",
        "def f(x):\n    n = 0\n    for i in x:\n        n += i\n    return n\n",
        "def f(x):\n    for i in x:\n        n = 0\n        n += i\n    return n\n",
    ),
    (
        "missing statement",
        "def f(x):\n    out = []\n    for i in x:\n        j = i\n    return out\n",
        "def f(x):\n    out = []\n    for i in x:\n        j = i\n        out.append(j)\n    return out\n",
    ),
    (
        "missing statement",
        "class D(B):\n    def __init__(self, a):\n        self.a = a\n",
        "class D(B):\n    def __init__(self, a):\n        super().__init__()\n        self.a = a\n",
    ),
]


@pytest.mark.parametrize(("kind", "wrong", "right"), CASES)
def test_the_right_edit_is_offered(kind: str, wrong: str, right: str) -> None:
    fitting = [candidate for candidate, made in offers(wrong) if made == right]
    assert fitting, f"nothing makes\n{right}"
    assert kind in {candidate.kind for candidate in fitting}
    for candidate in fitting:
        assert 0 < candidate.prior <= 1
        assert candidate.reason
        assert 1 <= candidate.line <= wrong.count("\n") + 1


ERRORS = [
    (
        ("NameError", "name 'totl' is not defined"),
        "def f(total):\n    return totl\n",
        "def f(total):\n    return total\n",
    ),
    (
        ("NameError", "name 'math' is not defined"),
        "def f(x):\n    return math.pi\n",
        "import math\ndef f(x):\n    return math.pi\n",
    ),
    (
        ("UnboundLocalError", "cannot access local variable 'n' where it is not associated with a value"),
        "def f():\n    n = 0\n\n    def g():\n        n += 1\n\n    g()\n",
        "def f():\n    n = 0\n\n    def g():\n        nonlocal n\n        n += 1\n\n    g()\n",
    ),
    (
        ("AttributeError", "'list' object has no attribute 'apend'"),
        "def f(x):\n    x.append(1)\n    x.apend(2)\n",
        "def f(x):\n    x.append(1)\n    x.append(2)\n",
    ),
    (
        ("TypeError", 'can only concatenate str (not "int") to str'),
        "def f(x):\n    return 'n' + x\n",
        "def f(x):\n    return 'n' + str(x)\n",
    ),
]


@pytest.mark.parametrize(("error", "wrong", "right"), ERRORS)
def test_errors_point_to_their_edit(error: tuple[str, str], wrong: str, right: str) -> None:
    assert right in [made for _, made in offers(wrong, Clues(errors=(error,), vocabulary=("append",)))]


def test_a_row_that_goes_on_is_likelier_than_a_number_from_nowhere() -> None:
    """Both can make the one failing test pass; only the first is what was meant."""
    wrong = 'def f(n):\n    return "th" if n % 100 in (11, 12) else ["th", "st", "nd", "rd"][n % 10 % 4]\n'
    found = {made: offer.prior for offer, made in reversed(offers(wrong))}
    assert found[wrong.replace("12)", "12, 13)")] > 3 * found[wrong.replace("% 10 ", "% 20 ")]


def test_a_length_before_an_index_that_is_out_of_range_mostly_lacks_one() -> None:
    wrong = "def f(x, i, n):\n    if -i <= n:\n        return len(x), n + i\n    return 0, i\n"
    clues = Clues(errors=(("IndexError", "list index out of range"),))
    found = {made: offer.prior for offer, made in reversed(offers(wrong, clues))}
    right = found[wrong.replace("len(x),", "len(x) - 1,")]
    assert right >= found[wrong.replace("<=", "<")] and right > 2 * found[wrong.replace("len(x),", "len(x) + 1,")]


def test_elements_of_a_row_come_from_what_the_test_mentions() -> None:
    wrong = 'def f(name):\n    return name.endswith((".py", ".pyi"))\n'
    made = [text for _, text in offers(wrong, Clues(constants=(".pyx", 3)))]
    assert wrong.replace('".pyi"', '".pyi", ".pyx"') in made


def test_an_expected_exception_is_raised_by_a_guard() -> None:
    clues = Clues(errors=(("Failed", "DID NOT RAISE <class 'ValueError'>"),), expected_errors=("ValueError",))
    wrong = "def f(amount):\n    return amount - 1\n"
    made = [text for _, text in offers(wrong, clues) if "if amount <= 0:\n        raise ValueError(" in text]
    assert made


def test_arguments_that_are_called_like_parameters_vouch_for_their_places() -> None:
    """A swap is likelier where it brings names together, and less likely where it parts them."""
    head = "def of(one, two):\n    return one - two\n\n\ndef f(one, two):\n    return of("

    def prior(given: str, swapped: str) -> float:
        return max(offer.prior for offer, made in offers(f"{head}{given})\n") if made == f"{head}{swapped})\n")

    assert prior("two, one", "one, two") > prior("1, one + 2", "one + 2, 1") > prior("one, two", "two, one")


def test_formatting_around_an_edit_stays() -> None:
    wrong = "def f( a,b ):\n    # why\n    return (a   <  b)   # so\n"
    assert "def f( a,b ):\n    # why\n    return (a   <=  b)   # so\n" in [made for _, made in offers(wrong)]


@pytest.mark.parametrize(
    ("text", "inner", "new", "wanted"),
    [
        ("a * b", "a", "x + y", "(x + y) * b"),
        ("a - b", "b", "x - y", "a - (x - y)"),
        ("a ** b", "a", "-x", "(-x) ** b"),
        ("a ** b", "b", "-x", "a ** (-x)"),
        ("not a", "a", "x and y", "not (x and y)"),
        ("a.b", "a", "x + y", "(x + y).b"),
        ("f(a)", "a", "x or y", "f(x or y)"),
        ("a[b]", "b", "x + 1", "a[x + 1]"),
        ("a < b", "b", "x < y", "a < (x < y)"),
        ("(a)", "a", "x, y", "(x, y)"),
        ("a and b", "a", "x or y", "(x or y) and b"),
        ("[a, b]", "a", "x if y else z", "[x if y else z, b]"),
    ],
)
def test_brackets_where_the_place_needs_them(text: str, inner: str, new: str, wanted: str) -> None:
    source = Source("m.py", f"v = {text}\n")
    node = next(item for item in ast.walk(source.tree) if isinstance(item, ast.Name) and item.id == inner)
    assert apply(source.text, [replace(source, node, new)]) == f"v = {wanted}\n"


def test_candidates_are_python_and_change_something() -> None:
    """Over real code: the package's own files."""
    package = Path(__file__).parents[3] / "agent_core" / "repair"
    clues = Clues(
        errors=(("NameError", "name 'text' is not defined"),), expected_errors=("ValueError",), constants=(1, "a")
    )
    broken, total = [], 0
    for path in (package / "failures.py", package / "project.py", package / "operators" / "offbyone.py"):
        source = Source(path.name, path.read_text(encoding="utf-8"))
        for region in source.regions:
            for operator in OPERATORS:
                for candidate in list(operator(region, clues))[::41]:
                    total += 1
                    assert all(0 <= item.start <= item.end <= len(source.text) for item in candidate.replacements)
                    try:
                        ast.parse(apply(source.text, candidate.replacements))
                    except SyntaxError:
                        broken.append(candidate.reason)
    assert total > 150
    assert len(broken) <= total * 0.01, broken[:5]
