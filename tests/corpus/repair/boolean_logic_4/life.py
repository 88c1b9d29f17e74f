"""Conway's game of life on an endless board; a board is a set of living cells."""


def neighbours(cell):
    x, y = cell
    return [(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx != 0 and dy != 0]


def step(alive):
    counts = {}
    for cell in alive:
        for near in neighbours(cell):
            counts[near] = counts.get(near, 0) + 1
    return {cell for cell, count in counts.items() if count == 3 or (count == 2 and cell in alive)}


def run(alive, times):
    for _ in range(times):
        alive = step(alive)
    return alive
