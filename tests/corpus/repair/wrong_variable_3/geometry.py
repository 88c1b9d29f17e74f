"""Boxes on a screen: left, top, width, height."""


class Box:
    def __init__(self, left, top, width, height):
        self.left = left
        self.top = top
        self.width = width
        self.height = height

    @property
    def right(self):
        return self.left + self.width

    @property
    def bottom(self):
        return self.top + self.width

    @property
    def area(self):
        return self.width * self.height

    def contains(self, x, y):
        return self.left <= x < self.right and self.top <= y < self.bottom

    def intersection(self, other):
        """The common box, or None."""
        left = max(self.left, other.left)
        top = max(self.top, other.top)
        right = min(self.right, other.right)
        bottom = min(self.bottom, other.bottom)
        if right <= left or bottom <= top:
            return None
        return Box(left, top, right - left, bottom - top)
