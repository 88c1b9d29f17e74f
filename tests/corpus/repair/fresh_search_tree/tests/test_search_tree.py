from search_tree import contains, insert, values


def tree(*numbers):
    root = None
    for number in numbers:
        root = insert(root, number)
    return root


def test_values():
    assert values(tree(5, 3, 8, 9)) == [3, 5, 8, 9]


def test_contains():
    assert contains(tree(5, 3, 8), 3)
    assert not contains(tree(5, 3, 8), 4)


def test_empty():
    assert values(None) == []


def test_twice():
    assert values(tree(1, 1)) == [1]
