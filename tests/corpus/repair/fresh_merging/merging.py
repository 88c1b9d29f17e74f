"""Merging of sorted lists, as in merge sort."""


def merge(left, right):
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    merged.extend(left[i:])
    merged.extend(right[i:])
    return merged


def merge_sorted(items):
    if len(items) < 2:
        return list(items)
    middle = len(items) // 2
    return merge(merge_sorted(items[:middle]), merge_sorted(items[middle:]))
