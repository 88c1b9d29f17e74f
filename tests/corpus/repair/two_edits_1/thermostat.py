"""A thermostat that keeps a room within a band."""


class Thermostat:
    def __init__(self, low, high):
        if low >= high:
            raise ValueError("low must be below high")
        self.low = low
        self.high = high
        self.heating = False

    def update(self, degrees):
        """Whether the heating is on after a measurement; between the bounds it stays as it was."""
        if degrees < self.low:
            self.heating = False
        elif degrees > self.high:
            self.heating = True
        return self.heating


def simulate(thermostat, start, minutes):
    """Degrees after each minute: up by one while heating, else down by one."""
    degrees = start
    course = []
    for _ in range(minutes):
        degrees += 1 if thermostat.update(degrees) else -1
        course.append(degrees)
    return course
