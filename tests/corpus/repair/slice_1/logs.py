"""Log lines of the form `LEVEL time message`."""


def parse(line):
    level, time, message = line.split(" ", 2)
    return {"level": level, "time": time, "message": message}


def tail(lines, count):
    """The last `count` lines."""
    return lines[-count:] if count else []


def rotate(lines, keep):
    """(kept, archived): the newest `keep` lines, and the older ones."""
    split = max(len(lines) - keep, 0)
    return lines[:split], lines[:split]


def errors(lines):
    return [parse(line)["message"] for line in lines if line.startswith("ERROR")]
