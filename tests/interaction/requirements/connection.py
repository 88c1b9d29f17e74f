"""Rules of one WebSocket connection: who gets in, frames, liveness, life and end."""

from __future__ import annotations

from tests.interaction.requirements.rule import GUIDE, OURS, Rule

RULES = (
    Rule("ws.auth", GUIDE, "The bearer key is checked before the upgrade is answered; without a right one it is 401."),
    Rule("ws.host", OURS, "A Host that is neither the bound address, localhost nor allowed is refused with 4xx."),
    Rule("ws.off", "openai/codex: 426 means fall back at once", "Where WebSocket is switched off an upgrade gets 426."),
    Rule("ws.extensions", "measured clients", "Compression is optional; no subprotocol is chosen."),
    Rule("ws.text_frames", GUIDE, "One JSON object per text frame, without SSE framing and without [DONE]."),
    Rule("ws.binary", OURS, "A binary frame gets an error frame; the connection goes on."),
    Rule("ws.utf8", "RFC 6455 8.1", "A text frame that is not UTF-8 closes the connection with 1007."),
    Rule("ws.fragments", "RFC 6455 5.4", "A message may come in any number of fragments."),
    Rule("ws.size", OURS, "16 MiB are served; above that an error (413, message_too_large), above 64 MiB close 1009."),
    Rule("ws.ping", "RFC 6455 5.5.2", "A ping is answered while responses run."),
    Rule("ws.ignored", "openai/codex", "Legacy events, stream, stream_options and unknown fields are passed over."),
    Rule("ws.robust", OURS, "No frame ends the connection, sticks a lane or goes unanswered in the lane's order."),
    Rule("ws.keepalive", "openai/codex#43022, #39771", "Silence is broken by response.in_progress after keepalive_s."),
    Rule("ws.lifetime", GUIDE, "At its limit the connection tells websocket_connection_limit_reached and closes."),
    Rule("ws.drain", OURS, "On shutdown what runs ends well, the rest is refused, the socket closes with 1001."),
    Rule("ws.leave", OURS, "A client that leaves, with a close frame or without, frees its responses at once."),
    Rule("ws.many", OURS, "Connections come and go without leaving anything behind."),
)
