"""Books meeting rooms."""


class Room:
    def __init__(self, name, seats):
        self.name = name
        self.seats = seats
        self.bookings = []

    def is_free(self, start, end):
        return all(end <= booked_start or start >= booked_end for booked_start, booked_end in self.bookings)

    def book(self, start, end):
        if start >= end:
            raise ValueError("a booking must end after its start")
        if not self.is_free(start, end):
            raise ValueError(f"{self.name} is taken")
        self.bookings.append((start, end))


def find_room(rooms, seats, start, end):
    """The smallest free room with enough seats, None if there is none."""
    best = None
    for room in rooms:
        if room.seats < seats or not room.is_free(start, end):
            continue
        if room.seats < best.seats:
            best = room
    return best
