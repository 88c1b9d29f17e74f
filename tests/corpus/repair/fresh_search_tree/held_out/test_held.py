from search_tree import insert, values


def test_more():
    root = None
    for number in (4, 2, 6, 1, 3, 5, 7, 8):
        root = insert(root, number)
    assert values(root) == [1, 2, 3, 4, 5, 6, 7, 8]
