"""The real Lark parser on grammars and texts from stdin's file: one JSON line per pair, true if it is accepted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import lark  # type: ignore[import-not-found]

for grammar, text in json.loads(Path(os.environ["PAIRS"]).read_text()):
    try:
        lark.Lark(grammar, parser="earley", maybe_placeholders=False).parse(text)
        print("true")
    except lark.exceptions.LarkError as error:
        print(json.dumps(str(error)[:200]))
