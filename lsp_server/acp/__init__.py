"""`loopline acp`: the agent for every editor that speaks the Agent Client Protocol, over standard input and output.

greeting.py      the first message, answered before the rest is loaded
lines.py         messages out of bytes
sdk.py           the one module on the protocol's SDK: a client, and the shapes of what it sends
agent.py         the methods, each with its handler
desk.py          opening, finding and listing sessions
session.py       one session as its client works with it
choices.py       modes and options that a session offers
commands.py      what is said with a slash
prompts.py       what was said, as a task
updates.py       what happens in a turn, as `session/update`
tool_calls.py    a tool call as clients draw it: title, kind, places, differences
replay.py        a stored session, told again
front_end.py     permissions and questions, asked of the client
files.py         the client's file system as the tools' open documents
mcp.py           MCP servers that the client brings
serving.py       one client, until either is gone
command.py       the process and its end
"""
