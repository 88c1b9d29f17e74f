"""Matches request paths against templates such as /users/{id}."""


def split(path):
    return [part for part in path.split("/") if part]


def match(template, path):
    """The values of the template's fields, or None."""
    wanted = split(template)
    given = split(path)
    if len(wanted) != len(given):
        return None
    values = {}
    for expected, actual in zip(wanted, given):
        if expected.startswith("{") and expected.endswith("}"):
            values[expected[1:-1]] = expected
        elif expected != actual:
            return None
    return values


class Router:
    def __init__(self):
        self._routes = []

    def add(self, template, handler):
        self._routes.append((template, handler))

    def dispatch(self, path):
        for template, handler in self._routes:
            values = match(template, path)
            if values is not None:
                return handler(**values)
        raise LookupError(path)
