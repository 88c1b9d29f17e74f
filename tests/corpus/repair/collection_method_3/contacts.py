"""An address book."""


class AddressBook:
    def __init__(self):
        self._entries = {}

    def put(self, name, **details):
        self._entries.setdefault(name, {}).update(details)

    def remove(self, name):
        """Forgets a name; unknown names are no error."""
        self._entries.pop(name, None)

    def phone(self, name):
        return self._entries.get(name, {}).get("phone", "unknown")

    def names(self):
        return sorted(self._entries)

    def with_detail(self, field):
        """Names of the entries that have a field."""
        return [name for name in self.names() if field in self._entries[name].values()]
