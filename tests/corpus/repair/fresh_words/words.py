"""Words of a text."""


def counted(text):
    counts = {}
    for word in text.lower().split():
        word = word.strip(".,;!?")
        if word:
            counts[word] = counts.get(word, 0) + 1
    return counts


def most_common(text, limit):
    """(word, count), the most frequent first, equal ones by alphabet."""
    pairs = sorted(counted(text).items(), key=lambda pair: (-pair[1], pair[0]))
    return pairs[:limit]


def longest(text):
    best = ""
    for word in counted(text):
        if len(word) > len(best):
            best = word
        return best
