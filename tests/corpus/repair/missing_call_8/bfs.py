"""Shortest ways through a maze of text."""

from collections import deque


def find(maze, mark):
    for row, line in enumerate(maze):
        if mark in line:
            return row, line.index(mark)
    raise ValueError(mark)


def shortest(maze):
    """Steps from S to E, None if there is no way. `#` is a wall."""
    start, end = find(maze, "S"), find(maze, "E")
    seen = {start}
    queue = deque([(start, 0)])
    while queue:
        (row, column), steps = queue.popleft()
        if (row, column) == end:
            return steps
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            place = (row + down, column + right)
            if not (0 <= place[0] < len(maze) and 0 <= place[1] < len(maze[0])):
                continue
            if maze[place[0]][place[1]] == "#" or place in seen:
                continue

            queue.append((place, steps + 1))
    return None
