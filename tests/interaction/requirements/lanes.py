"""Rules of lanes: one FIFO each, side by side, within the limits of a connection."""

from __future__ import annotations

from tests.interaction.requirements.rule import GUIDE, OURS, Rule

RULES = (
    Rule("lanes.fifo", GUIDE, "Overlapping creates on a lane queue and are answered one after the other."),
    Rule("lanes.parallel", GUIDE, "Lanes run side by side; their events interleave freely."),
    Rule("lanes.echo", GUIDE, "Every event of a named lane echoes its stream_id; default-lane events carry none."),
    Rule("lanes.in_flight", GUIDE, "16 responses run at once; more are queued without an error."),
    Rule("lanes.names", GUIDE, "32 distinct names in a connection's life; the next is websocket_stream_limit_reached."),
    Rule("lanes.stream_id", GUIDE, "stream_id is 1-256 characters of [A-Za-z0-9_.-], else invalid_stream_id."),
    Rule("lanes.release", "mudler/LocalAI#11608", "The lane is free the moment its terminal event leaves."),
    Rule("lanes.order_of_errors", OURS, "An error on a busy lane is told in the lane's order."),
    Rule("lanes.isolation", GUIDE, "A failure on one lane leaves the others alone."),
)
