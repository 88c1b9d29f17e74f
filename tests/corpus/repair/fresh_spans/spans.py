"""Spans of time as (start, end)."""


def merged(spans):
    """Overlapping and touching spans become one; sorted."""
    result = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], end)
        else:
            result.append((start, end))
    return result


def covered(spans):
    return sum(end - start for start, end in merged(spans))


def gaps(spans):
    joined = merged(spans)
    return [(one[1], two[0]) for one, two in zip(joined, joined[1:])]
