"""Rules of `response.cancel`, an extension."""

from __future__ import annotations

from tests.interaction.requirements.rule import OURS, Rule

RULES = (
    Rule("cancel.running", OURS, "A cancel ends its lane's response as incomplete, status cancelled, within 1 s."),
    Rule("cancel.lane", OURS, "It goes to the default lane, or to the one that it names, and to no other."),
    Rule("cancel.parent", OURS, "A cancelled continuation leaves its parent to be continued."),
    Rule("cancel.queued", OURS, "A create that still waits is answered as created and cancelled."),
    Rule("cancel.idle", OURS, "A cancel of nothing, or of a response that is over, is passed over."),
)
