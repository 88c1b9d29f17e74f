"""Rules of running the service: keys, limits, figures, the ledger, and what measures it."""

from __future__ import annotations

from tests.interaction.requirements.rule import OURS, Rule

RULES = (
    Rule("keys.several", OURS, "Several keys are let in, each known by its name."),
    Rule("limits.requests", OURS, "Requests above a key's limit are told 429 with retry-after, over either transport."),
    Rule("limits.connections", OURS, "Connections above a key's limit are refused before the upgrade."),
    Rule("limits.tokens", OURS, "Tokens count before the client can ask again, also for one that leaves early."),
    Rule("limits.engine", OURS, "A pause that an engine asks for reaches the client."),
    Rule("metrics.told", OURS, "Metrics want a key and tell what happened; probes want none."),
    Rule("ledger.whole", OURS, "Every admitted response is in the ledger, settled or closed, also after a kill."),
    Rule("ledger.first", OURS, "Nothing is answered that could not be accounted for; a refusal has no entry."),
    Rule("end.settled", OURS, "A signal lets what runs end, and settles it."),
    Rule("log.lines", OURS, "The log has a line per response and nothing that was said."),
    Rule(
        "work.bounded",
        OURS,
        "What a client sends is bounded in the work that it makes; no other waits for it.",
    ),
    Rule("peers.slow", OURS, "Half-sent heads and bodies end at a time limit, and so do readers that never read."),
    Rule("peers.wrong_keys", OURS, "Wrong keys are limited by peer; a right one is let in."),
    Rule("usage.unfinished", OURS, "What was said before a cancel, a disconnect or a failure is counted everywhere."),
    Rule("bench.true", OURS, "The benchmark's roles do what their figures say."),
)
