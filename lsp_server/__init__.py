"""The language server that will host the agent for every editor."""
