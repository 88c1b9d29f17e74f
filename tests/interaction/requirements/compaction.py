"""Rules of compaction."""

from __future__ import annotations

from tests.interaction.requirements.rule import OURS, REFERENCE, Rule

RULES = (
    Rule("compaction.threshold", REFERENCE, "Above the threshold a compaction item comes before the reply."),
    Rule("compaction.trigger", REFERENCE, "A trigger, which must be last, gives exactly one compaction item."),
    Rule("compaction.standalone", REFERENCE, "POST /responses/compact: the user's messages and one compaction item."),
    Rule("compaction.continue", REFERENCE, "Items before a compaction may be sent again or not; the same counts."),
    Rule("compaction.foreign", OURS, "A compaction that can't be read is refused, not dropped."),
    Rule("sealed.ours", OURS, "What was not sealed by this service for this key, or was changed, is refused by name."),
    Rule("sealed.shared", OURS, "Services that share a store read what each other sealed; a restart loses no secret."),
    Rule("sealed.bounded", OURS, "What a request makes the service unpack is bounded, before it is unpacked."),
)
