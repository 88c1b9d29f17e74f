"""The agent's standard toolbox, put together from the families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_core.errors import ToolError
from agent_core.tools.ask import AskTool
from agent_core.tools.checks.checks import ChecksTool
from agent_core.tools.commands.environment import PYTHON_VARIABLE, command_environment, find_interpreter
from agent_core.tools.commands.handles import Handles, ProcessTool
from agent_core.tools.commands.processes import Processes
from agent_core.tools.commands.shell import ShellTool
from agent_core.tools.editor.diagnostics import DiagnosticSource, DiagnosticsTool
from agent_core.tools.editor.open_documents import OpenDocumentsTool
from agent_core.tools.files.edit import EditTool
from agent_core.tools.files.patch import PatchTool
from agent_core.tools.files.reading import ListTool, ReadTool
from agent_core.tools.outputs import Outputs
from agent_core.tools.plan import PlanTool
from agent_core.tools.port import Tool
from agent_core.tools.sandbox.sandbox import Sandbox
from agent_core.tools.search.search import SearchTool
from agent_core.tools.toolbox import Closing, Source, Toolbox
from agent_core.tools.workspace.workspace import Workspace
from agent_core.variables import variables


def standard_toolbox(
    workspace: Workspace,
    *,
    python: str | None = None,
    trusted: bool = False,
    use_venv: bool = False,
    environment: Mapping[str, str] | None = None,
    named_variables: Sequence[str] = (),
    diagnostics: DiagnosticSource | None = None,
    background: bool = False,
    sandbox: Sandbox | None = None,
    source: Source | None = None,
) -> Toolbox:
    """All tools of a session. Close the toolbox when the session ends.

    `python`: the setting of that name; None: it is looked for. `trusted`: the folder may configure git's hooks and its
    virtual environment is used; `use_venv`: the latter alone (`loopline run -w`). `environment` None: this process's.
    `named_variables`: variables that commands get beside those of the list. `background`: `shell` may leave commands
    running, and a tool `process` reads, feeds and stops them. `sandbox` confines commands; None: they are not. `source`
    has tools of other programs.
    """
    base = variables() if environment is None else environment
    commands = command_environment(base, trusted=trusted, named=named_variables)
    commands.update(_python_of(workspace, python, commands, use_venv=trusted or use_venv))
    processes = Processes(sandbox)
    own = Processes()
    handles = Handles(processes) if background else None
    outputs = Outputs()
    tools: list[Tool] = [
        ListTool(workspace),
        ReadTool(workspace, outputs),
        SearchTool(workspace, commands, own),
        EditTool(workspace),
        PatchTool(workspace),
        ShellTool(workspace, commands, processes, handles),
        ChecksTool(workspace, commands, processes, python=python, use_venv=trusted or use_venv),
        DiagnosticsTool(workspace, diagnostics),
    ]
    if workspace.documents is not None:
        tools.append(OpenDocumentsTool(workspace, workspace.documents))
    tools += [PlanTool(), AskTool()]
    closing: list[Closing] = [*([handles] if handles is not None else []), processes, own]
    confine = None
    if sandbox is not None:
        closing.append(sandbox)
        confine = sandbox.confine
    if handles is not None:
        tools.append(ProcessTool(handles))
    return Toolbox(tools, closing=closing, source=source, background=handles, confine=confine, outputs=outputs)


def _python_of(
    workspace: Workspace, setting: str | None, environment: Mapping[str, str], *, use_venv: bool
) -> dict[str, str]:
    """The variable that tells commands which interpreter the workspace has; none where there is none."""
    try:
        found = find_interpreter(workspace.root, setting=setting, environment=environment, use_venv=use_venv)
    except ToolError:
        return {}
    return {PYTHON_VARIABLE: found.path}
