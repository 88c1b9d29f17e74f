"""The hub's store on PostgreSQL, for several hubs at once (extra `postgres`; loaded by `store/opening.py` alone).

schema.py   all tables, by migration; the partitions of a day
store.py    writing: a unit as one transaction, and retention
asking.py   questions about events, turns, troubles and cells
people.py   tokens, sessions, values, audit
"""
