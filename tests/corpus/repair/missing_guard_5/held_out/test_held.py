from scheduler import Room, find_room


def test_first_of_equal_rooms():
    rooms = [Room("A", 5), Room("B", 5)]
    assert find_room(rooms, 5, 1, 2).name == "A"
    assert find_room([], 1, 1, 2) is None
