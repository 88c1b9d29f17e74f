"""Sorting by insertion, stable, with an optional key."""


def insertion_sorted(items, key=lambda item: item):
    """A new list; equal items keep their order."""
    result = list(items)
    for index in range(1, len(result)):
        item = result[index]
        position = index
        while position > 1 and key(result[position - 1]) > key(item):
            result[position] = result[position - 1]
            position -= 1
        result[position] = item
    return result


def ranks(scores):
    """Name -> place from 1, best score first."""
    ordered = insertion_sorted(scores.items(), key=lambda pair: -pair[1])
    return {name: place for place, (name, _) in enumerate(ordered, start=1)}
