"""The engine `repair`: a deterministic search over program edits with the tests as judge. No language model.

Owns how a Python bug is found and mended through whatever tools the client offers; it never touches files itself.
`engine.py` is the shell (conversation in, deltas out), `plan.py` the way of work, `edits/` the families of edits,
`scripts/` the programs that the client's own command tool runs.
"""
