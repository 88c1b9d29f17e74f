"""A cache that forgets what was not used for longest."""

from collections import OrderedDict


class Cache:
    def __init__(self, size):
        self.size = size
        self.items = OrderedDict()

    def get(self, key, default=None):
        if key not in self.items:
            return default
        return self.items[key]

    def put(self, key, value):
        self.items[key] = value
        self.items.move_to_end(key)
        if len(self.items) > self.size:
            self.items.popitem(last=False)
