"""Rules of the service as a process."""

from __future__ import annotations

from tests.interaction.requirements.rule import OURS, Rule

RULES = (
    Rule("process.ready", OURS, "The ready file is whole, private, and there once the service listens."),
    Rule("process.store", OURS, "Stored responses outlive the process; a store that can't be opened ends it."),
    Rule("process.signal", OURS, "A signal drains within the grace, exit code 0; a second one ends at once."),
    Rule("process.parent", OURS, "The service ends within 2 s of its parent."),
    Rule("process.rollout", OURS, "A rollout that was not played to its end makes the exit code 1."),
    Rule("process.start", OURS, "A service that can't start says why and leaves no ready file."),
    Rule("process.log", OURS, "No key and no content is logged."),
)
