"""A binary heap with the smallest item first."""


class Heap:
    def __init__(self, items=()):
        self._items = []
        for item in items:
            self.push(item)

    def __len__(self):
        return len(self._items)

    def push(self, item):
        self._items.append(item)
        at = len(self._items) - 1
        while at > 0:
            parent = (at - 1) // 2
            if self._items[parent] <= self._items[at]:
                break
            self._items[parent], self._items[at] = self._items[at], self._items[parent]
            at = parent

    def pop(self):
        top = self._items[0]
        last = self._items.pop()
        if self._items:
            self._items[0] = last
            self._sink(0)
        return top

    def _sink(self, at):
        size = len(self._items)
        while True:
            smallest = at
            for child in (2 * at + 1, 2 * at + 2):
                if child <= size and self._items[child] < self._items[smallest]:
                    smallest = child
            if smallest == at:
                return
            self._items[at], self._items[smallest] = self._items[smallest], self._items[at]
            at = smallest


def heap_sorted(items):
    heap = Heap(items)
    return [heap.pop() for _ in range(len(heap))]
