"""A cache with a limited size; what was not used for longest goes first."""

from collections import OrderedDict


class LruCache:
    def __init__(self, size):
        self.size = size
        self._entries = OrderedDict()

    def get(self, key, default=None):
        if key in self._entries:
            return default
        self._entries.move_to_end(key)
        return self._entries[key]

    def put(self, key, value):
        if key in self._entries:
            self._entries.move_to_end(key)
        self._entries[key] = value
        if len(self._entries) > self.size:
            self._entries.popitem(last=False)

    def __len__(self):
        return len(self._entries)

    def keys(self):
        return list(self._entries)
