"""What the scripted model makes up for a Lark grammar, judged by the real parser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_core.responses_server.engines.scripted.lark_text import lark_text
from tests.support.service_clients import LARK, ready, run_script

pytestmark = pytest.mark.timeout(900)

GRAMMARS = {
    "apply_patch": r"""
start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.+)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.+)/ LF
eof_line: "*** End of File" LF

%import common.LF
""",
    "calculator": r"""
?start: sum
      | NAME "=" sum    -> assign_var
?sum: product
    | sum "+" product   -> add
    | sum "-" product   -> sub
?product: atom
    | product "*" atom  -> mul
?atom: NUMBER           -> number
     | "-" atom         -> neg
     | NAME             -> var
     | "(" sum ")"
%import common.CNAME -> NAME
%import common.NUMBER
%import common.WS_INLINE
%ignore WS_INLINE
""",
    "json": r"""
?start: value
?value: object | array | string | SIGNED_NUMBER -> number | "true" | "false" | "null"
array  : "[" [value ("," value)*] "]"
object : "{" [pair ("," pair)*] "}"
pair   : string ":" value
string : ESCAPED_STRING
%import common.ESCAPED_STRING
%import common.SIGNED_NUMBER
%import common.WS
%ignore WS
""",
    "sql": r"""
start: select ";"
select: "SELECT"i columns "FROM"i NAME [where] ("ORDER"i "BY"i NAME)?
columns: "*" | NAME ("," NAME)*
where: "WHERE"i NAME OPERATOR (NAME | INT)
OPERATOR: "=" | "<" | ">"
NAME: /(?!SELECT|FROM|WHERE|ORDER|BY)[a-z_]+/
%import common.INT
%import common.WS
%ignore WS
""",
    "repeats": 'start: DIGIT ~ 4 ("-" /[a-f]{2}/) ~ 1..3 SUFFIX?\nSUFFIX: ("x".."z")+\n%import common.DIGIT',
    "comments": '// a list\nstart: item ("," item)* // of items\nitem: "a" | "b" | "(" start ")"\n',
}


@pytest.mark.rule("clients.lark")
async def test_the_real_parser_accepts_what_is_made_up(tmp_path: Path) -> None:
    pairs = [(grammar, lark_text(grammar)) for grammar in GRAMMARS.values()]
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(pairs))
    accepted = await run_script(ready(LARK), "lark_accepts.py", {"PAIRS": str(path)})
    assert dict(zip(GRAMMARS, accepted, strict=True)) == dict.fromkeys(GRAMMARS, True)
