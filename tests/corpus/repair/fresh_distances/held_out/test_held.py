from distances import distances


def test_tree():
    graph = {1: [2, 3], 2: [4], 3: [4, 5], 4: [6], 5: [], 6: []}
    assert distances(graph, 1) == {1: 0, 2: 1, 3: 1, 4: 2, 5: 2, 6: 3}
