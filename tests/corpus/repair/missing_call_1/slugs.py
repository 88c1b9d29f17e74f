"""Titles as parts of web addresses."""

import re


def slug(title):
    """Lower case, words joined by hyphens, nothing at the ends."""
    text = title
    text = re.sub(r"[^a-z0-9]+", "-", text)
    return text.strip("-")


def unique_slug(title, taken):
    base = slug(title)
    candidate, number = base, 2
    while candidate in taken:
        candidate = f"{base}-{number}"
        number += 1
    return candidate
