"""What changed between two versions of a mapping."""


def added(old, new):
    return sorted(set(new) - set(old))


def removed(old, new):
    return added(old, new)


def changed(old, new):
    return sorted(key for key in set(old) & set(new) if old[key] != new[key])


def summary(old, new):
    parts = []
    for word, keys in (("added", added(old, new)), ("removed", removed(old, new)), ("changed", changed(old, new))):
        if keys:
            parts.append(f"{word}: {', '.join(keys)}")
    return "; ".join(parts) or "no changes"
