"""Example texts for Lark grammars; the real parser judges more of them in the tests of clients."""

from __future__ import annotations

import re

import pytest

from agent_core.errors import EngineError
from agent_core.responses_server.engines.scripted import lark_text as module
from agent_core.responses_server.engines.scripted.lark_text import lark_text
from tests.support.extremes import rules_in_a_row

PATCH = """
start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?
hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change?
filename: /(.+)/
add_line: "+" /(.*)/ LF -> line
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF
%import common.LF
"""


@pytest.mark.parametrize(
    ("grammar", "expected"),
    [
        ('start: "a"', "a"),
        ('start: "a" | "b"\n     | ""', ""),
        ('start: A ~ 3 "-" b ~ 1..2\nA: "x"\nb: /[0-9]{2}/', "xxx-00"),
        ('start: ["skip"] ("in" | "out") "done"?', "in"),
        ('?start: sum\n?sum: NUMBER | sum "+" NUMBER -> add\n%import common.NUMBER', "0"),
        ('start: "SELECT" NAME "FROM" NAME ";"\nNAME: ("a".."z")+\n%import common.WS\n%ignore WS', "SELECT a FROM a;"),
        ('start: "SELECT" NAME\nNAME: /[a-z]+/', "SELECTa"),
        (r'start: "\"" /\/[a]/ "\n\x41é"', '"/a\nAé'),
        ("start: WORD INT // a comment\n%import common (WORD, INT)\n", "a0"),
        ("start: W\n%import common.CNAME -> W", "a"),
        ('start: KEY\nKEY.2: "where"i', "where"),
        ('%declare _INDENT\nstart: "x"', "x"),
    ],
)
def test_the_shortest_text(grammar: str, expected: str) -> None:
    assert lark_text(grammar) == expected


def test_a_patch() -> None:
    text = lark_text(PATCH)
    assert re.fullmatch(r"\*\*\* Begin Patch\n\*\*\* \w+ File: .+\n(.*\n)*\*\*\* End Patch\n?", text)


@pytest.mark.parametrize(
    "grammar",
    [
        "",
        'other: "x"',
        "start: nowhere",
        'start: start "x"',
        "start: _sep{a, b}",
        "%import python.NAME\nstart: NAME",
        "%import common.NOTHING\nstart: NOTHING",
        '%frobnicate x\nstart: "a"',
        'start: ("a"',
        "start: \x00",
        'start: "a" ~ x',
        'start: ("" ~ 99999) ~ 99999',
        "start: " + '"a" ~ 99999 ' * 1_000,
        "start: " + "(" * 5000 + '"a"',
    ],
)
def test_grammars_that_can_not_be_used(grammar: str) -> None:
    with pytest.raises(EngineError) as caught:
        lark_text(grammar)
    assert caught.value.code == "grammar_unreadable"


@pytest.mark.rule("work.bounded")
@pytest.mark.parametrize(
    "grammar",
    [
        rules_in_a_row(1_000),
        "start: r0\n" + "\n".join(f"r{n}: r{n + 1}" for n in range(1_000)) + '\nr1000: "a"',
        "start: " + " | ".join(f"r{n}" for n in range(900)) + "\n" + "\n".join(f'r{n}: "a"' for n in range(900)),
        'start: "a"\n' + '%ignore "b"\n' * 1_000,
    ],
    ids=["backward", "forward", "alternatives", "ignored"],
)
def test_the_work_grows_with_the_grammar_only(grammar: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_DERIVED", len(grammar))
    assert lark_text(grammar) == "a"


def test_work_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    grammar = rules_in_a_row(200)
    monkeypatch.setattr(module, "_MOST_DERIVED", 100)
    with pytest.raises(EngineError) as caught:
        lark_text(grammar)
    assert caught.value.code == "grammar_unreadable"
