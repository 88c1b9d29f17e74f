"""The `upstream` engine: any OpenAI-compatible server behind our socket.

settings.py    the options of one engine
failures.py    what goes wrong on the way, as errors that a user can act on
interleaved.py items that grow at the same time, one after the other
responses.py   the Responses API: request bodies and events
chat.py        Chat Completions: request bodies
chunks.py      Chat Completions: streamed chunks
lane.py        what is kept of a conversation between calls
affinity.py    which slot of a llama.cpp server a conversation goes to
posting.py     one call over HTTP
socket.py      one call over a WebSocket that belongs to the conversation
slots.py       how many slots a llama.cpp server has
engine.py      the engine: which API a server has, and calls over it
"""
