"""Orders as they come from a form."""


def line_total(line):
    return line["price"] * line["count"]


def read_line(text):
    """`name;price;quantity` as a record."""
    name, price, quantity = text.split(";")
    return {"name": name.strip(), "price": float(price), "quantity": int(quantity)}


def total(lines):
    return sum(line_total(read_line(line)) for line in lines)


def names(lines):
    return [read_line(line)["name"] for line in lines]
