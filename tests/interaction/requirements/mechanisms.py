"""Rules of what makes the service fast, and of what that must not change."""

from __future__ import annotations

from tests.interaction.requirements.rule import OURS, Rule

RULES = (
    Rule("state.bounded", OURS, "ChainState lanes are bounded; the oldest go first, and cost one full resend at most."),
    Rule("state.age", OURS, "What nobody goes on with is forgotten after a while."),
    Rule("tools.known", OURS, "Tools and instructions that come again are neither parsed nor rendered again."),
    Rule("screen.flag", OURS, "A flag shows in metadata and telemetry, and stays with the conversation."),
    Rule("screen.before_output", OURS, "No output leaves before the verdict; a block is response.failed with a code."),
    Rule("screen.said", OURS, "What the model said is screened as if it had come back over stateless HTTP."),
    Rule("route.reload", OURS, "A reload voids resolved routes on connections that stay open."),
    Rule("rollout.goes_on", OURS, "A rollout is one response that goes on behind its calls, as a chain would."),
    Rule("rollout.off", OURS, "Without the switch or the header a call ends the response."),
    Rule("rollout.ends", OURS, "A wait for outputs ends by a cancel, a wrong append, a shutdown or a limit of time."),
)
