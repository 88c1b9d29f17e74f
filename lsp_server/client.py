"""The editor as we may use it: what it says it can do, and what we ask of it, each request with its deadline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lsprotocol import types as lsp

from lsp_server.rpc.errors import ClientError
from lsp_server.rpc.protocol_fixes import FixedProtocol

REQUEST_S = 10.0
EDIT_S = 30.0
"""An editor may ask its user before it applies an edit."""


class Client:
    """One connected editor. `ours` is what it announced for us in `experimental.loopline`."""

    def __init__(self, protocol: FixedProtocol, capabilities: lsp.ClientCapabilities) -> None:
        self._protocol, self._can = protocol, capabilities
        experimental = capabilities.experimental
        ours = experimental.get("loopline") if isinstance(experimental, Mapping) else None
        self.ours: Mapping[str, Any] = ours if isinstance(ours, Mapping) else {}

    # What it can do

    @property
    def progress(self) -> bool:
        return bool(self._can.window and self._can.window.work_done_progress)

    @property
    def shows_documents(self) -> bool:
        return bool(self._can.window and self._can.window.show_document and self._can.window.show_document.support)

    @property
    def configures(self) -> bool:
        return bool(self._can.workspace and self._can.workspace.configuration)

    @property
    def applies_edits(self) -> bool:
        return bool(self._can.workspace and self._can.workspace.apply_edit)

    @property
    def versions_edits(self) -> bool:
        edits = self._can.workspace.workspace_edit if self._can.workspace else None
        return bool(edits and edits.document_changes)

    @property
    def annotates_edits(self) -> bool:
        edits = self._can.workspace.workspace_edit if self._can.workspace else None
        return bool(edits and edits.document_changes and edits.change_annotation_support)

    @property
    def refreshes_lenses(self) -> bool:
        lens = self._can.workspace.code_lens if self._can.workspace else None
        return bool(lens and lens.refresh_support)

    @property
    def completes_inline(self) -> bool:
        return bool(self._can.text_document and self._can.text_document.inline_completion)

    @property
    def registers_watchers(self) -> bool:
        """It tells of changed files, if it is asked to."""
        files = self._can.workspace.did_change_watched_files if self._can.workspace else None
        return bool(files and files.dynamic_registration)

    @property
    def literal_actions(self) -> bool:
        """It takes code actions; without this, commands only."""
        action = self._can.text_document.code_action if self._can.text_document else None
        return bool(action and action.code_action_literal_support)

    @property
    def resolved_action_fields(self) -> Sequence[str]:
        """What of a code action it lets us fill in later."""
        action = self._can.text_document.code_action if self._can.text_document else None
        if action is None or not action.data_support or action.resolve_support is None:
            return ()
        return action.resolve_support.properties

    @property
    def versions_diagnostics(self) -> bool:
        found = self._can.text_document.publish_diagnostics if self._can.text_document else None
        return bool(found and found.version_support)

    def has(self, feature: str) -> bool:
        """Whether it announced one of our own features (`saveDocuments`, `approvals`, `answers`)."""
        return self.ours.get(feature) is True

    # What we ask

    async def apply(self, edit: lsp.WorkspaceEdit, label: str) -> lsp.ApplyWorkspaceEditResult:
        """Raises ClientError."""
        params = lsp.ApplyWorkspaceEditParams(edit=edit, label=label)
        result: lsp.ApplyWorkspaceEditResult = await self._ask(lsp.WORKSPACE_APPLY_EDIT, params, EDIT_S)
        return result

    async def choose(self, kind: lsp.MessageType, message: str, titles: Sequence[str]) -> str | None:
        """Ask a person; None: dismissed. Waits as long as it takes. Raises ClientError."""
        actions = [lsp.MessageActionItem(title) for title in titles]
        params = lsp.ShowMessageRequestParams(type=kind, message=message, actions=actions)
        result: lsp.MessageActionItem | None = await self._ask(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params, None)
        return result.title if result is not None else None

    async def show(self, uri: str, *, external: bool = False) -> bool:
        """Show a document without taking the focus, or a page in the browser; False if it did not."""
        if not self.shows_documents:
            return False
        params = lsp.ShowDocumentParams(uri=uri, external=external, take_focus=False)
        try:
            result: lsp.ShowDocumentResult = await self._ask(lsp.WINDOW_SHOW_DOCUMENT, params, REQUEST_S)
        except ClientError:
            return False
        return result.success

    async def configuration(self, section: str) -> Any:
        """The editor's settings of `section`; None if it has none or can't say."""
        if not self.configures:
            return None
        params = lsp.ConfigurationParams([lsp.ConfigurationItem(section=section)])
        try:
            result = await self._ask(lsp.WORKSPACE_CONFIGURATION, params, REQUEST_S)
        except ClientError:
            return None
        return result[0] if result else None

    async def save(self, uris: Sequence[str]) -> bool:
        """Have our plugin save documents; False if there is none, or it could not."""
        if not self.has("saveDocuments"):
            return False
        try:
            result = await self._protocol.ask("loopline/saveDocuments", {"uris": list(uris)}, timeout_s=REQUEST_S)
        except ClientError:
            return False
        return isinstance(result, Mapping) and result.get("saved") is True

    async def create_progress(self, token: str) -> bool:
        if not self.progress:
            return False
        try:
            await self._ask(lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WorkDoneProgressCreateParams(token), REQUEST_S)
        except ClientError:
            return False
        return True

    async def watch_files(self, patterns: Sequence[str]) -> None:
        """Have it tell of changes to files that match."""
        if not self.registers_watchers:
            return
        watchers = [lsp.FileSystemWatcher(glob_pattern=pattern) for pattern in patterns]
        options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
        method = lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES
        registration = lsp.Registration(id="loopline-files", method=method, register_options=options)
        try:
            await self._ask(lsp.CLIENT_REGISTER_CAPABILITY, lsp.RegistrationParams([registration]), REQUEST_S)
        except ClientError:
            return

    async def refresh_lenses(self) -> None:
        if self.refreshes_lenses:
            try:
                await self._ask(lsp.WORKSPACE_CODE_LENS_REFRESH, None, REQUEST_S)
            except ClientError:
                return

    # What we tell

    def message(self, kind: lsp.MessageType, text: str) -> None:
        self._protocol.notify(lsp.WINDOW_SHOW_MESSAGE, lsp.ShowMessageParams(type=kind, message=text))

    def diagnostics(self, uri: str, version: int | None, found: Sequence[lsp.Diagnostic]) -> None:
        version = version if self.versions_diagnostics else None
        params = lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version)
        self._protocol.notify(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def tell_progress(self, token: int | str, value: Any) -> None:
        self._protocol.notify(lsp.PROGRESS, lsp.ProgressParams(token=token, value=value))

    async def _ask(self, method: str, params: Any, timeout_s: float | None) -> Any:
        return await self._protocol.ask(method, params, timeout_s=timeout_s)
