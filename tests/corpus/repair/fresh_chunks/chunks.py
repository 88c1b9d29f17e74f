"""Iterators over parts."""


def chunked(items, size):
    """Lists of `size` items each, the last one shorter."""
    chunk = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if not chunk:
        yield chunk


def pairwise(items):
    """Each item with the next one."""
    iterator = iter(items)
    try:
        before = next(iterator)
    except StopIteration:
        return
    for item in iterator:
        yield before, item
        before = item
