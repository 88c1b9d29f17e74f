"""Every action as a shell command, for clients that offer nothing else, and the reading of such output. Pure.

Commands run small Python programs with the workspace's interpreter. Each prints a line that starts with a mark, so
whatever the client puts around the output (Codex: `Chunk ID`, `Wall time`, `Process exited with code`, `Output:`) does
no harm.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from typing import Any

from agent_core.repair.actions import (
    Action,
    Edited,
    EditFile,
    FileText,
    Hits,
    Interpreter,
    ListFiles,
    Listing,
    Observation,
    ReadFile,
    Refused,
    RunScript,
    RunTests,
    ScriptOutput,
    Search,
    TestRun,
)
from agent_core.repair.programs import program

_END = "LOOPLINE_END"
_USUAL = ('"$VIRTUAL_ENV/bin/python"', ".venv/bin/python", "venv/bin/python", "python3", "python")
"""Where the interpreter of a workspace usually is, in the order in which it is looked for; the client may say it."""
_ENVELOPE = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Process|Exit code|Original token count|Total output lines|Warning)[^\n]*\n)+Output:\n"
)


def command(action: Action) -> tuple[str, int]:
    """The command for an action and the seconds it may take."""
    match action:
        case RunScript(interpreter, script, purpose, limit_s):
            return f"# {purpose}\n{_python(interpreter)} - <<'{_END}'\n{script.rstrip()}\n{_END}", limit_s
        case RunTests(target, known):
            return _program("run_tests", {"target": target, "command": known}), 120
        case ListFiles(path, depth):
            return _program("files", {"do": "list", "path": path or ".", "depth": depth}), 20
        case ReadFile(path, start, end):
            return _program("files", {"do": "read", "path": path, "start": start, "end": end}), 20
        case Search(pattern, glob):
            return _program("files", {"do": "search", "pattern": pattern, "glob": glob}), 30
        case EditFile(path, old, new):
            return _program("files", {"do": "edit", "path": path, "old": old, "new": new}), 20


def _python(interpreter: Interpreter) -> str:
    """The workspace's interpreter: the very one where its path is known, else the first of the usual ones that fits.

    A shown command may say `python` for whatever interpreter was found, so a bare name proves nothing.
    """
    words = shlex.split(interpreter.shown)
    settings, name = [word for word in words[:-1] if "=" in word], words[-1] if words else ""
    lead = shlex.join(settings) + " " if settings else ""
    if "/" in name:
        return f"{lead}{shlex.quote(name)}"
    wanted = f"import {interpreter.runner}" if interpreter.runner else "pass"
    tried = " ".join(dict.fromkeys([*_USUAL, *([shlex.quote(name)] if name else [])]))
    looked_for = f'for PY in {tried}; do "$PY" -c "{wanted}" 2>/dev/null && break; done'
    any_at_all = f'for PY in {tried}; do "$PY" -c pass 2>/dev/null && break; done'
    found = looked_for if wanted == "pass" else f"{looked_for} || {any_at_all}"
    return f'PY=$LOOPLINE_PYTHON; [ "$PY" ] || {found}; {lead}"$PY"'


def edit_of(text: str) -> EditFile | None:
    """The edit that a command made here asks for; None for every other command."""
    line = next((line for line in text.splitlines() if line.startswith("JOB = {'do': 'edit'")), None)
    if line is None:
        return None
    job = ast.literal_eval(line.removeprefix("JOB = "))
    return EditFile(job["path"], job["old"], job["new"])


def _program(name: str, job: dict[str, object]) -> str:
    return f"{_python(Interpreter())} - <<'{_END}'\n{program((name,), job)}{_END}"


def unwrap(output: str) -> str:
    """The command's own output, without what the client put ahead of it."""
    if output.startswith("{"):
        try:
            value = json.loads(output)
        except ValueError:
            return output
        if isinstance(value, dict) and isinstance(value.get("output"), str):
            return str(value["output"])
    found = _ENVELOPE.match(output)
    return output[found.end() :] if found else output


def observation(action: Action, output: str) -> Observation:
    """What a command's output says of the action that it was made for."""
    text = unwrap(output)
    if isinstance(action, RunScript):
        return ScriptOutput(text)
    facts = _marked(text)
    if facts is None:
        return Refused(_last_line(text))
    if "error" in facts:
        return Refused(str(facts["error"]))
    match action:
        case ListFiles():
            return Listing(tuple(facts["paths"]))
        case ReadFile(path):
            return FileText(path, facts["first"], facts["last"], facts["total"], facts["text"])
        case Search():
            return Hits(tuple((path, line, text) for path, line, text in facts["found"]))
        case EditFile(path):
            return Edited(path)
        case RunTests():
            body = text.partition("\n" + _MARK)[0] if not text.startswith(_MARK) else ""
            return TestRun(facts["status"], facts["failed"], facts["passed"], facts["runner"], facts["command"], body)


_MARK = "loopline: "


def _marked(text: str) -> dict[str, Any] | None:
    """The facts of the last line that a program of ours printed; None where it printed none."""
    for line in reversed(text.splitlines()):
        if line.startswith(_MARK):
            try:
                value = json.loads(line[len(_MARK) :])
            except ValueError:
                return None
            return value if isinstance(value, dict) else None
    return None


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no output"
