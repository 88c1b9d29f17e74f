"""What a model can do, and what a request to it says because of that. Pure.

Known families come first, then what a service states of a model, then the user's own word (`[models.NAME]`). Of a
model that nobody knows nothing is assumed: it is sent no effort unless the user says one, and plain tools.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from agent_core.config.settings import EFFORTS, Effort
from agent_core.errors import ConfigError, UsageError
from agent_core.model.families import FAMILIES, OWN, EditTool, Family

FIT: Final = 0.8
"""Share of the context from which a conversation is compacted, where that is less than `context.compact_at`."""
_SNAPSHOT = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$")


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """`family` "": nobody knows this model. `efforts` None: not known, so any may be tried. None: not known. The rest
    as in `Family`."""

    model: str
    family: str = ""
    context_tokens: int | None = None
    reasoning: bool | None = None
    efforts: tuple[Effort, ...] | None = None
    summaries: bool = False
    images: bool | None = None
    calls: bool | None = None
    edit_tool: EditTool = "edit"
    effort: Effort | None = None
    """The user's own level for this model."""
    source: str = ""

    def takes(self, effort: Effort) -> bool:
        return self.efforts is None or effort in self.efforts

    def check_effort(self, effort: Effort) -> None:
        """Raises UsageError (`effort_unsupported`) for a level that the model does not take."""
        if self.takes(effort):
            return
        if not self.efforts:
            raise UsageError(f"{self.model} takes no effort", code="effort_unsupported", hint="leave --effort out")
        levels = ", ".join(self.efforts)
        raise UsageError(
            f"{self.model} takes no effort {effort!r}", code="effort_unsupported", hint=f"it takes {levels}"
        )

    def reasoning_fields(self, effort: Effort | None, *, summary: bool) -> Mapping[str, str]:
        """`reasoning` of a create: what the model takes of it; empty: the field is left out."""
        wanted = effort or self.effort
        fields: dict[str, str] = {"effort": wanted} if wanted is not None and self.takes(wanted) else {}
        if summary and self.summaries:
            fields["summary"] = "auto"
        return fields

    def compact_at(self, wanted_tokens: int) -> int:
        """`context.compact_at`, or less where the context is smaller; 0 stays 0."""
        if not wanted_tokens or self.context_tokens is None:
            return wanted_tokens
        return min(wanted_tokens, int(self.context_tokens * FIT))


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """What a service says of one of its models; None: it does not say."""

    context_tokens: int | None = None
    images: bool | None = None
    reasoning: bool | None = None


class _Own(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    context_tokens: int | None = None
    images: bool | None = None
    reasoning: bool | None = None
    efforts: tuple[Effort, ...] | None = None
    summaries: bool | None = None
    edit_tool: EditTool | None = None
    effort: Effort | None = None


class ModelBook:
    """`own` are the tables `[models.NAME]`. `free_form`: the service takes tools whose input is no JSON; else the
    free-form `apply_patch` is offered as `patch`. Raises ConfigError for a table that can't be read."""

    def __init__(self, own: Mapping[str, Mapping[str, Any]] | None = None, *, free_form: bool = False) -> None:
        self._free_form = free_form
        self._own = {name: _own(name, table) for name, table in (own or {}).items()}
        self._stated: dict[str, Stated] = {}

    def state(self, model: str, stated: Stated) -> None:
        """Keep what a service said of a model."""
        self._stated[model] = stated

    def of(self, model: str) -> Capabilities:
        found = Capabilities(model=model)
        if (family := family_of(model)) is not None:
            found = Capabilities(
                model=model,
                family=family.family,
                context_tokens=family.context_tokens,
                reasoning=family.reasoning,
                efforts=family.efforts,
                summaries=family.summaries,
                images=family.images,
                calls=family.calls,
                edit_tool="patch" if family.edit_tool == "apply_patch" and not self._free_form else family.edit_tool,
                source=family.source,
            )
        for said in (self._stated.get(model), self._own.get(model)):
            if said is not None:
                given = {name: value for name, value in msgspec.structs.asdict(said).items() if value is not None}
                found = msgspec.structs.replace(found, **given)
        return found


def plain_name(model: str) -> str:
    """A model's name without vendor, variant and snapshot: `openai/gpt-5-2025-08-07:free` is `gpt-5`."""
    name = model.strip().lower().rpartition("/")[2]
    name = name if name.startswith("scripted") else name.partition(":")[0]
    return _SNAPSHOT.sub("", name)


def family_of(model: str) -> Family | None:
    """The first row whose beginning the name has."""
    name = plain_name(model)
    own = next((row for row in OWN if name.partition(":")[0] in row.names), None)
    return own or next((row for row in FAMILIES if name.startswith(row.names)), None)


def _own(name: str, table: Mapping[str, Any]) -> _Own:
    try:
        return msgspec.convert(table, _Own, strict=True)
    except msgspec.ValidationError as error:
        expected = f"a table of context_tokens, images, reasoning, efforts ({', '.join(EFFORTS)}), edit_tool, effort"
        raise ConfigError("settings", f"models.{name}", expected, got=str(error)) from error
