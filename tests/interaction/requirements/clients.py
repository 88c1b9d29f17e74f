"""Rules of compatibility: real clients, unchanged."""

from __future__ import annotations

from tests.interaction.requirements.rule import Rule

RULES = (
    Rule("clients.openai_python", "openai-python 3.57", "Its connection and its HTTP methods get what they expect."),
    Rule("clients.openai_node", "openai-node 7.59", "Its WebSocket and its HTTP methods get what they expect."),
    Rule("clients.agents_python", "openai-agents 0.24", "An agent with a tool runs over either transport."),
    Rule("clients.codex", "Codex CLI 0.171", "One handshake, a warm-up, deltas only, and nothing tried twice."),
    Rule("clients.copilot", "Copilot CLI 1.0.102", "Over WebSocket it chains and reads the cached tokens."),
    Rule("clients.opencode", "opencode 1.18", "Over HTTP it runs a tool and ends."),
    Rule("clients.exports", "Codex 0.171, Copilot CLI 1.0.102", "What they export to a hub is what the ledger has."),
    Rule(
        "clients.acpx", "acpx 0.19", "A client of ACP mends a project with the agent, and what it denies does not run."
    ),
    Rule("clients.acp_python", "agent-client-protocol 0.12", "The SDK's own client talks to the agent."),
)
