"""Cheapest routes in a network."""

import heapq


def costs(network, start):
    """Node -> cost of the cheapest way from `start`. `network`: node -> {neighbour: cost}."""
    done = {}
    queue = [(0, start)]
    while queue:
        cost, node = heapq.heappop(queue)
        if node in done:
            continue
        done[node] = cost
        for neighbour, step in network.get(node, {}).items():
            heapq.heappush(queue, (step, neighbour))
    return done


def within(network, start, budget):
    return sorted(node for node, cost in costs(network, start).items() if cost <= budget)
