"""The engine `repair`: a deterministic search over program edits with the tests as oracle. No language model.

Owns how a Python bug is found and mended through whatever tools the client offers; it never touches files itself.
`replies.py` is the shell (conversation in, next words and calls out), `plan.py` the way of work, `operators/` the kinds
of edits, `scripts/` the programs that the client's own command tool runs.
"""
