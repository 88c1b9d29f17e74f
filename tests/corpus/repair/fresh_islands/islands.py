"""Connected land on a map of letters."""


def size_of(rows, row, column, seen):
    """Number of fields of land that hang together with this one."""
    inside = 0 <= row < len(rows) and 0 <= column < len(rows[0])
    if not inside or (row, column) in seen or rows[row][column] != "#":
        return 0
    seen.add((row, column))
    return (
        1
        + size_of(rows, row + 1, column, seen)
        + size_of(rows, row - 1, column, seen)
        + size_of(rows, row, column + 1, seen)
        + size_of(rows, row, column + 1, seen)
    )


def islands(rows):
    """Sizes of all islands, largest first."""
    seen = set()
    sizes = [size_of(rows, row, column, seen) for row in range(len(rows)) for column in range(len(rows[0]))]
    return sorted((size for size in sizes if size), reverse=True)
