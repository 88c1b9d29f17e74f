"""Text in lines of limited width."""


def wrapped(text, width):
    """Lines of whole words, none longer than `width` but for words that are."""
    lines = []
    line = ""
    for word in text.split():
        if not line:
            line = word
        elif len(line) + len(word) <= width:
            line += " " + word
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines


def boxed(text, width):
    return ["|" + line.ljust(width) + "|" for line in wrapped(text, width)]
