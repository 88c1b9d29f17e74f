"""Which model turns use, and what it can do, as the service's `GET /v1/models` says."""

from __future__ import annotations

from agent_core.errors import LooplineError, UsageError
from agent_core.hosting.port import SessionHost
from lsp_server.editor import Editor
from lsp_server.protocol.methods import ModelInfo, Models, ModelSelect
from lsp_server.rpc.routes import Routes


def register(editor: Editor, routes: Routes) -> None:
    async def select(asked: ModelSelect, token: int | str | None) -> Models:
        models = await known()
        if asked.model is not None:
            names = [model.id for model in models or ()]
            if names and asked.model.partition(":")[0] not in {name.partition(":")[0] for name in names}:
                raise UsageError(f"the service has no model {asked.model[:80]!r}", hint=f"it has {', '.join(names)}")
            editor.model_selected = asked.model
            for session in wanted(asked.session_id):
                session.reconfigure(model=asked.model)
            editor.settings_changed()
        endpoint = editor.desk.endpoint()
        return Models(model=endpoint.model if endpoint is not None else "", models=models)

    def wanted(session_id: str | None) -> list[SessionHost]:
        if session_id is None:
            return editor.desk.owned()
        session = editor.desk.sessions.get(session_id)
        if session is None or session.view().place != "live":
            raise UsageError(f"there is no session {session_id[:80]!r} here", code="unknown_session")
        return [session]

    async def known() -> tuple[ModelInfo, ...] | None:
        try:
            return await editor.models.listed()
        except LooplineError:
            return None

    routes.on_command("loopline.model.select", ModelSelect, select)
    editor.bus.configured.add(editor.models.forget)
