"""Values deep inside nested data."""


def get(data, path, default=None):
    """The value at `a.b.0`; the default where a part is missing."""
    current = data
    for part in path.split("."):
        if isinstance(current, list):
            if not part.isdigit() or int(part) >= len(current):
                return default
            current = current[int(part)]
        elif isinstance(current, dict):
            current = current[part]
        else:
            return default
    return current


def pick(data, paths):
    return {path: get(data, path) for path in paths}
