"""Directed graphs of task names."""

from collections import deque


def reachable(edges, start):
    """Every node that can be reached from `start`, itself included, in the order of discovery."""
    seen = {start}
    order = [start]
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for following in edges.get(node, ()):
            seen.add(following)
            order.append(following)
            queue.append(following)
    return order


def distance(edges, start, goal):
    """Number of steps from start to goal, None if there is no way."""
    steps = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if node == goal:
            return steps[node]
        for following in edges.get(node, ()):
            if following not in steps:
                steps[following] = steps[node] + 1
                queue.append(following)
    return None
