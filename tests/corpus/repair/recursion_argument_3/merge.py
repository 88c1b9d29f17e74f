"""Deep merging of settings."""


def merged(base, extra):
    """A new mapping: values of `extra` win, inner mappings are merged in turn."""
    result = dict(base)
    for key, value in extra.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result, value)
        else:
            result[key] = value
    return result


def merged_all(layers):
    result = {}
    for layer in layers:
        result = merged(result, layer)
    return result


def flat(settings, prefix=""):
    """Nested settings as `a.b` keys."""
    found = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            found.update(flat(value, f"{name}."))
        else:
            found[name] = value
    return found
