import pytest

from scheduler import Room, find_room


def test_book():
    room = Room("A", 4)
    room.book(9, 10)
    room.book(10, 11)
    with pytest.raises(ValueError):
        room.book(9, 11)
    with pytest.raises(ValueError):
        room.book(3, 3)


def test_smallest():
    rooms = [Room("A", 10), Room("B", 4), Room("C", 6)]
    assert find_room(rooms, 3, 9, 10).name == "B"


def test_none():
    assert find_room([Room("A", 2)], 3, 9, 10) is None


def test_taken():
    small, large = Room("A", 4), Room("B", 8)
    small.book(9, 12)
    assert find_room([small, large], 2, 10, 11) is large
