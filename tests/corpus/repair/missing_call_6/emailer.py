"""Addresses of a mailing list."""


def normal(address):
    """Lower case, without blanks around it."""
    return address.strip().lower()


def is_valid(address):
    name, at, host = address.partition("@")
    return bool(name) and bool(at) and "." in host and not host.startswith(".")


class MailingList:
    def __init__(self):
        self._members = set()

    def add(self, address):
        """Whether the address is new."""
        address = normal(address)
        if not is_valid(address):
            raise ValueError(address)
        if address in self._members:
            return False
        self._members.add(address)
        return True

    def remove(self, address):
        self._members.discard(address)

    def __contains__(self, address):
        return normal(address) in self._members

    def __len__(self):
        return len(self._members)
