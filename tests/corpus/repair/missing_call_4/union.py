"""Disjoint sets."""


class Groups:
    def __init__(self, members):
        self._parent = {member: member for member in members}
        self._size = {member: 1 for member in members}

    def root(self, member):
        while self._parent[member] != member:
            self._parent[member] = self._parent[self._parent[member]]
            member = self._parent[member]
        return member

    def join(self, first, second):
        """Whether two groups became one."""
        a, b = self.root(first), self.root(second)
        if a == b:
            return False
        if self._size[a] < self._size[b]:
            a, b = b, a
        self._parent[b] = a
        self._size[a] += self._size[b]
        return True

    def size(self, member):
        return self._size[member]

    def together(self, first, second):
        return self.root(first) == self.root(second)
