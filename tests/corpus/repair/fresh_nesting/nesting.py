"""Nested lists."""


def flattened(nested):
    flat = []
    for item in nested:
        if isinstance(item, list):
            flat.extend(flattened(item))
        else:
            flat.append(item)
    return flat


def depth(nested):
    if not isinstance(nested, list):
        return 0
    return 1 + max((depth(item) for item in nested), default=0)


def grouped(items, key):
    groups = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return items
