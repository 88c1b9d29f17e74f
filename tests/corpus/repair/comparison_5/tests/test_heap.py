from heap import Heap, heap_sorted


def test_smallest_first():
    heap = Heap([5, 2, 8])
    assert heap.pop() == 2
    assert len(heap) == 2


def test_sorted():
    assert heap_sorted([5, 3, 9, 1, 4, 7, 2]) == [1, 2, 3, 4, 5, 7, 9]


def test_equal_items():
    assert heap_sorted([2, 2, 1, 1]) == [1, 1, 2, 2]


def test_empty():
    assert heap_sorted([]) == []
