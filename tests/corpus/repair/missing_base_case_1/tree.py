"""Binary search trees of numbers."""


class Node:
    def __init__(self, value, left=None, right=None):
        self.value = value
        self.left = left
        self.right = right


def insert(node, value):
    if node is None:
        return Node(value)
    if value < node.value:
        node.left = insert(node.left, value)
    elif value > node.value:
        node.right = insert(node.right, value)
    return node


def height(node):
    return 1 + max(height(node.left), height(node.right))


def in_order(node):
    """Values in ascending order."""
    if node is None:
        return []
    return in_order(node.left) + [node.value] + in_order(node.right)


def build(values):
    root = None
    for value in values:
        root = insert(root, value)
    return root
