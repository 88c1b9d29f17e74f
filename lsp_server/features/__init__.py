"""One feature per module, each with `register(editor, routes)`; what they share is the editor they are given.

turns.py          start, cancel, steer and undo turns
sessions.py       new, list, resume; transcript
changes.py        what a turn changed, file by file
progress.py       `$/progress` of turns
reports.py        updates of sessions as events, and the diff of a turn
answers.py        the final answer as a document
approvals.py      answering questions by command
models.py         which model, and what it can do
trust.py          trusting a folder
keys.py           keys of providers
dashboard.py      the browser dashboard
status.py         the state that a status line shows
documents.py      saving, settings and watched files
code_actions.py   entries on selections and diagnostics
diagnostics.py    what the editor's language tools say
findings.py       failing tests as diagnostics, and lenses over them
hover.py          which turn changed a line, and why
ai_comments.py    `AI!` and `AI?` in comments
inline.py         ghost text at the cursor
watching.py       files that change outside of the editor
"""

from __future__ import annotations

from lsp_server.editor import Editor
from lsp_server.features import (
    ai_comments,
    answers,
    approvals,
    changes,
    code_actions,
    dashboard,
    diagnostics,
    documents,
    findings,
    hover,
    inline,
    keys,
    models,
    progress,
    reports,
    sessions,
    status,
    trust,
    turns,
    watching,
)
from lsp_server.rpc.routes import Routes


def register_all(editor: Editor, routes: Routes) -> None:
    """Register every feature, in the order in which they hear of things."""
    for feature in (
        reports, documents, progress, turns, sessions, changes, approvals, answers, models, trust, keys, dashboard,
        status, diagnostics, code_actions, findings, hover, inline, ai_comments, watching,
    ):  # fmt: skip
        feature.register(editor, routes)
