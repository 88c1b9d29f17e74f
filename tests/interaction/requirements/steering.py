"""Rules of `response.steer`."""

from __future__ import annotations

from tests.interaction.requirements.rule import SDK, Rule

RULES = (
    Rule("steer.accepted", SDK, "Valid input for a running response is accepted with an id, in its stream."),
    Rule("steer.successor", SDK, "A successor with the same settings takes queued input in, in the order it came."),
    Rule("steer.pending", SDK, "Input waits for outputs of the client's tools, and then comes before them."),
    Rule("steer.returned", SDK, "Accepted input that can't be committed comes back with its id and a code."),
    Rule("steer.refused", SDK, "Input that can't be taken is refused at once: with a code, and as it was sent."),
)
