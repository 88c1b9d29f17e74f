"""What a client's user said, as the task of a turn. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from agent_core.errors import UsageError
from agent_core.text import sound
from lsp_server.acp.sdk import Model, schema

NOT_TAKEN = "not_taken"


def task_of(blocks: Sequence[Model]) -> str:
    """Texts as they stand, with the name of what is mentioned in its place; texts of files that came along follow at
    the end. Raises UsageError (`not_taken`) for pictures and sound, which no part of the agent takes, and where nothing
    was said."""
    said: list[str] = []
    attached: list[str] = []
    for block in blocks:
        if isinstance(block, schema.TextContentBlock):
            said.append(block.text)
        elif isinstance(block, schema.ResourceContentBlock):
            said.append(named(block.uri))
        elif isinstance(block, schema.EmbeddedResourceContentBlock):
            if not isinstance(block.resource, schema.TextResourceContents):
                raise UsageError("only text is taken of what is attached", code=NOT_TAKEN)
            name = named(block.resource.uri)
            said.append(name)
            attached.append(f"{name} holds:\n{_fenced(block.resource.text)}")
        else:
            raise UsageError("pictures and sound are not taken", code=NOT_TAKEN, hint="describe it in words")
    task = sound("\n\n".join(("".join(said).strip("\n"), *attached)))
    if not task.strip():
        raise UsageError("nothing was said", code=NOT_TAKEN)
    return task


def named(uri: str) -> str:
    """A file's path, with the lines that are meant; any other address as it is."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return uri
    path = unquote(parts.path)
    return f"{path} ({parts.fragment})" if parts.fragment else path


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"
