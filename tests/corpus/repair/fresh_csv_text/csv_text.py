"""Lines of comma-separated fields with quotes."""


def fields(line):
    """Fields of one line; a quoted field may hold commas, and doubled quotes for quotes."""
    found, field, quoted, index = [], "", False, 0
    while index < len(line):
        char = line[index]
        if quoted and char == '"' and line[index + 1 : index + 2] == '"':
            field += '"'
            index += 1
        elif char == '"':
            quoted = not quoted
        elif char == "," and quoted:
            found.append(field)
            field = ""
        else:
            field += char
        index += 1
    found.append(field)
    return found


def joined(values):
    return ",".join('"' + value.replace('"', '""') + '"' if "," in value or '"' in value else value for value in values)
