"""Names of tokens, and whose they are. Pure."""

from __future__ import annotations


def person_of(agent: str) -> str:
    """Whose agent it is: `anna@laptop` and `anna@ci` are tokens of anna."""
    return agent.partition("@")[0] or agent
