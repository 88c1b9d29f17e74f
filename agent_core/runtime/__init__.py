"""Composition root of the agent's side: endpoint, embedded service, journal and session put together.

endpoint.py   which service and model to talk to, from settings and keys
embedded.py   the embedded Responses service as a child process
telemetry.py  where a process's events go
host.py       a hosted session: everything built in order, everything closed in reverse
"""
