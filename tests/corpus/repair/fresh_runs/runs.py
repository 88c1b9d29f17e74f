"""Run-length coding: `3a2b` for `aaabb`."""


def encoded(text):
    result = ""
    index = 0
    while index < len(text):
        end = index
        while end < len(text) and text[end] == text[index]:
            end += 1
        result += f"{end - index}{text[index]}"
        index = end
    return result


def decoded(code):
    result = ""
    count = 0
    for char in code:
        if char.isdigit():
            count = count + int(char)
        else:
            result += char * count
            count = 0
    return result
