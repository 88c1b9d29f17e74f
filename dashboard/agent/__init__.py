"""The agent in the terminal: a conversation with a session, on `agent_core.hosting`, drawn with Textual."""
