"""Defaults for records."""


class Schema:
    def __init__(self, defaults):
        self._defaults = dict(defaults)

    def record(self, **values):
        """A new record: the defaults with some values replaced. Unknown fields are refused."""
        unknown = set(values) - set(self._defaults)
        if unknown:
            raise TypeError(f"unknown fields: {', '.join(sorted(unknown))}")
        record = self._defaults
        record.update(values)
        return record

    def with_field(self, name, default):
        """A new schema with one more field."""
        return Schema({**self._defaults, name: default})

    @property
    def fields(self):
        return sorted(self._defaults)
