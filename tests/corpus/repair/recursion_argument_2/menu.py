"""Menus within menus."""


def find(menu, label, path=()):
    """Labels that lead to an entry, itself included; None if there is none of that label."""
    for entry in menu:
        here = (*path, entry["label"])
        if entry["label"] == label:
            return here
        found = find(entry.get("children", []), label, here)
        if found is not None:
            return found
    return None


def depth(menu):
    if not menu:
        return 0
    return 1 + max(depth(entry.get("children", [])) for entry in menu)


def outline(menu, level=0):
    """Lines with two spaces per level."""
    lines = []
    for entry in menu:
        lines.append("  " * level + entry["label"])
        lines.extend(outline(entry.get("children", []), level))
    return lines
