"""Permissions as bit flags."""

READ = 1
WRITE = 2
DELETE = 4
ADMIN = READ | WRITE | DELETE

_NAMES = {READ: "read", WRITE: "write", DELETE: "delete"}


def grant(mask, flag):
    return mask | flag


def revoke(mask, flag):
    return mask | ~flag


def allows(mask, flag):
    """Whether all bits of `flag` are set."""
    return mask & flag == flag


def names(mask):
    return [name for flag, name in _NAMES.items() if allows(mask, flag)]
