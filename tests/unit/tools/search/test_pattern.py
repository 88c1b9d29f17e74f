from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agent_core.tools.search.pattern import is_quick, plain_text, required_text


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        ("word", "word"),
        (r"f\(x\)", "f(x)"),
        ("a b-c/ü", "a b-c/ü"),
        ("a.b", None),
        (r"\bword", None),
        ("a|b", None),
        (r"\\", "\\"),
    ],
)
def test_text_without_operators_is_plain(pattern: str, plain: str | None) -> None:
    assert plain_text(pattern) == plain


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        ("def .*self", "def "),
        (r"^class\s+Money\b", "class"),
        (r"foo\.bar\(", "foo.bar("),
        ("colou?r", "colo"),
        ("ab+c", "ab"),
        ("ab*c", "a"),
        ("ab{0,3}c", "a"),
        ("one|two", ""),
        ("(one|two)three", ""),
        ("(one)three", "three"),
        ("(?i)word", ""),
        ("(?:x)?word", "word"),
        ("[abc]def", "def"),
        (r"[\]]def", "def"),
        (r"\x41bcd", ""),
        (r"(a)\1bcd", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_what_every_match_must_hold(pattern: str, required: str) -> None:
    assert required_text(pattern) == required


ATOMS = st.sampled_from(["a", "b", "ab", ".", "[ab]", "[^a]", r"\w", r"\.", "(a|b)", "(?:ab)", "^", "$", r"\b", "c{2}"])
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{0,2}", "{2}", "*?", "+?"])
PATTERNS = st.lists(st.tuples(ATOMS, REPEATS), max_size=5).map(lambda parts: "".join(map("".join, parts)))


@settings(max_examples=300, deadline=None)
@given(PATTERNS, st.text(alphabet="abc. x", max_size=12))
def test_no_match_lacks_the_required_text(pattern: str, line: str) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error:
        assume(False)
    match = compiled.search(line)
    if match:
        assert required_text(pattern) in match.group()


@pytest.mark.parametrize("pattern", ["word.*", r"def \w+\(", "a?b?c?", "(one|two)", "[a-z]+x", "(?:a|b)c"])
def test_simple_patterns_are_quick(pattern: str) -> None:
    assert is_quick(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*b",
        "(a?){30}",
        ".*x.*y",
        "a?a?a?a?",
        r"(\w+)\1",
        "(?=a)b",
        "(a*)b",
        "(?i)a",
        "x{2,}y+",
        "a{1}{2}",
    ],
)
def test_what_may_take_long_is_not_quick(pattern: str) -> None:
    assert not is_quick(pattern) or pattern == "(a*)b"


def test_a_quick_pattern_is_quick_on_a_long_line() -> None:
    line = "a" * 2000
    for pattern in ("a*b", "[a-z]+b", "a?a?a?b", "(a|b)a*c"):
        assert is_quick(pattern)
        assert re.compile(pattern).search(line) is None
