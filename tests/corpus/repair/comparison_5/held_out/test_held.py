import random

from heap import heap_sorted


def test_many():
    rng = random.Random(3)
    for size in range(20):
        items = [rng.randrange(30) for _ in range(size)]
        assert heap_sorted(items) == sorted(items)
