"""Figures and their measures."""


class Circle:
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius**2

    def scaled(self, factor):
        return Circle(self.radius * factor)


def distance(one, two):
    return math.hypot(one[0] - two[0], one[1] - two[1])
