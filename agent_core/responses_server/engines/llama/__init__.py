"""The `llama` engine: any GGUF model in this process, by llama.cpp (package xllamacpp, extra `local`).

One transcript per lane is both the rendered-token cache and what the model's KV state holds: new items are rendered
with the model's own chat template, tokenised by its tokenizer, appended, and only they are evaluated.

settings.py    the options of one engine, and where a named model's file is
gguf.py        what a GGUF file says of itself
memory.py      how much memory a model needs, and how much there is
template.py    the model's chat template, sandboxed
call_format.py how the template spells tool calls
grammar.py     what the model may write, as a grammar for constrained sampling
reading.py     the model's text, read back as deltas
logprobs.py    log probabilities, with the text they became
transcript.py  text and tokens of one conversation, with the places where it can be continued
lanes.py       which conversation has which slot of the model
host.py        llama.cpp's server, in this process, behind a private socket
trial.py       a first load in a process of its own, since llama.cpp aborts the process on some damaged files
engine.py      the engine
"""
