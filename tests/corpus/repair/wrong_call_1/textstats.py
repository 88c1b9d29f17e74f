"""Figures about a text."""

import re
from collections import Counter


def words(text):
    return re.findall(r"[a-z']+", text.lower())


def most_common(text, count):
    """Words with their numbers, the most frequent first, equal ones in alphabetical order."""
    counted = Counter(words(text))
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return ordered[:count]


def longest_word(text):
    """The longest word; the first of several equally long ones."""
    found = words(text)
    return min(found, key=len) if found else ""


def average_length(text):
    found = words(text)
    return sum(len(word) for word in found) / len(found) if found else 0.0
