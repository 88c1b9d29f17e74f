"""Entries in the editor's menus: on a diagnostic, and on a selection where the model can do what they say.

Titles are cheap and no model is asked for them; the work is in the command, which an editor that resolves gets late.
"""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp

from lsp_server.editor import Editor
from lsp_server.features.findings import SOURCE, fix_test
from lsp_server.features.turns import start_turn
from lsp_server.protocol.methods import Ask, TurnStart
from lsp_server.rpc.routes import Routes

MAX_DIAGNOSTICS = 5
REWRITE = "refactor.rewrite.loopline"
OTHER = "loopline"

WISHES = {
    "Make it simpler": "Make the selected code simpler and easier to read. Keep what it does.",
    "Find and fix mistakes": "Find mistakes in the selected code and fix them.",
    "Add documentation": "Document the selected code the way this project documents its code.",
}
"""What an editor without our plugin can ask for: the protocol has no way to ask a person for words."""


def register(editor: Editor, routes: Routes) -> None:
    async def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        if not editor.roots or not editor.client.literal_actions:
            return []
        wanted = [
            str(kind.value if isinstance(kind, lsp.CodeActionKind) else kind) for kind in params.context.only or ()
        ]
        found = _for_diagnostics(params)
        if params.range.start != params.range.end and await editor.models.can("chat"):
            found += _for_selection(params, tools=await editor.models.can("tools"))
        shown = [action for action in found if not wanted or any(_within(action.kind, kind) for kind in wanted)]
        if "command" not in editor.client.resolved_action_fields:
            for action in shown:
                action.command = _command(action.data)
        return shown

    async def resolve(action: lsp.CodeAction) -> lsp.CodeAction:
        if action.command is None:
            action.command = _command(action.data)
        return action

    async def ask(asked: Ask, token: int | str | None) -> None:
        """Answered at once; the person is asked, and the turn started, after that."""
        editor.spawn(choose(asked, token), "ask what to change")

    async def choose(asked: Ask, token: int | str | None) -> None:
        title = await editor.client.choose(lsp.MessageType.Info, "What should Loopline do here?", list(WISHES))
        if title in WISHES:
            wish = TurnStart(task=WISHES[title], text_document=asked.text_document, range=asked.range)
            await start_turn(editor, wish, token)

    kinds = [lsp.CodeActionKind.QuickFix, REWRITE, OTHER]
    options = lsp.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True)
    routes.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, options)(actions)
    routes.feature(lsp.CODE_ACTION_RESOLVE)(resolve)
    routes.on_command("loopline.ask", Ask, ask)


def _for_diagnostics(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    found = params.context.diagnostics[:MAX_DIAGNOSTICS]
    actions = []
    for diagnostic in found:
        what = f": {diagnostic.message[:60]}" if len(found) > 1 else ""
        actions.append(
            lsp.CodeAction(
                title=f"Fix with Loopline{what}",
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=[diagnostic],
                data={"do": "fix", **_place(params, diagnostic.range), "diagnostic": _plain(diagnostic)},
            )
        )
    return actions


def _for_selection(params: lsp.CodeActionParams, *, tools: bool) -> list[lsp.CodeAction]:
    place = _place(params, params.range)
    found = [lsp.CodeAction(title="Explain with Loopline", kind=OTHER, data={"do": "explain", **place})]
    if tools:
        change = lsp.CodeAction(title="Ask Loopline to change this…", kind=REWRITE, data={"do": "ask", **place})
        tests = lsp.CodeAction(title="Write tests with Loopline", kind=OTHER, data={"do": "tests", **place})
        found = [change, *found, tests]
    return found


def _command(data: Any) -> lsp.Command | None:
    """What an action of ours does; None for data that is not ours."""
    if not isinstance(data, dict):
        return None
    place = {"textDocument": {"uri": data.get("uri")}, "range": data.get("range")}
    diagnostic = data.get("diagnostic") or {}
    tasks = {
        "explain": "Explain the selected code: what it does, and what is easily missed. Change nothing.",
        "tests": "Write tests for the selected code, where and how this project keeps its tests.",
        "fix": fix_test(str(diagnostic.get("code")))
        if diagnostic.get("source") == SOURCE
        else f"Fix this problem: {str(diagnostic.get('message', ''))[:500]}",
    }
    what = data.get("do")
    if what == "ask":
        return lsp.Command("Ask Loopline", "loopline.ask", arguments=[place])
    if what not in tasks:
        return None
    own = diagnostic.get("source") == SOURCE
    argument = {"task": tasks[what], **place, **({"diagnostic": diagnostic} if diagnostic and not own else {})}
    return lsp.Command("Start a turn", "loopline.turn.start", arguments=[argument])


def _place(params: lsp.CodeActionParams, span: lsp.Range) -> dict[str, Any]:
    return {"uri": params.text_document.uri, "range": _points(span)}


def _points(span: lsp.Range) -> dict[str, Any]:
    return {name: {"line": point.line, "character": point.character}
            for name, point in (("start", span.start), ("end", span.end))}  # fmt: skip


def _plain(diagnostic: lsp.Diagnostic) -> dict[str, Any]:
    fields = {"message": diagnostic.message, "severity": diagnostic.severity, "source": diagnostic.source,
              "code": diagnostic.code, "range": _points(diagnostic.range)}  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}


def _within(kind: Any, wanted: str) -> bool:
    own = str(kind.value if isinstance(kind, lsp.CodeActionKind) else kind)
    return own == wanted or own.startswith(f"{wanted}.")
