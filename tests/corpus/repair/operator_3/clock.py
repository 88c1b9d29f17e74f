"""Times of day as minutes since midnight."""

DAY = 24 * 60


def parse(text):
    hours, minutes = text.split(":")
    value = int(hours) * 60 + int(minutes)
    if not 0 <= value < DAY:
        raise ValueError(text)
    return value


def show(minutes):
    minutes %= DAY
    return f"{minutes // 60:02d}:{minutes // 60:02d}"


def add(text, minutes):
    return show(parse(text) + minutes)


def between(start, end):
    """Minutes from start to end; past midnight if the end is the earlier one."""
    return (parse(end) - parse(start)) % DAY
