"""A binary search tree of numbers."""


class Node:
    def __init__(self, value):
        self.value = value
        self.left = None
        self.right = None


def insert(node, value):
    if node is None:
        return Node(value)
    if value < node.value:
        node.left = insert(node.left, value)
    elif value > node.value:
        node.right = insert(node.left, value)
    return node


def contains(node, value):
    if node is None:
        return False
    if value == node.value:
        return True
    return contains(node.left if value < node.value else node.right, value)


def values(node):
    return [*values(node.left), node.value, *values(node.right)] if node else []
