"""Distances in a graph without weights."""

from collections import deque


def distances(graph, start):
    """Node -> number of edges from `start`; nodes out of reach are left out."""
    found = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for neighbour in graph.get(node, ()):
            if neighbour not in found:
                found[neighbour] = found[start] + 1
                queue.append(neighbour)
    return found


def farthest(graph, start):
    found = distances(graph, start)
    return max(found, key=lambda node: (found[node], node))
