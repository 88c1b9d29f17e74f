"""A pocket calculator for postfix notation."""

OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


class CalculatorError(Exception):
    pass


def evaluate(text):
    stack = []
    for word in text.split():
        if word in OPERATIONS:
            if len(stack) < 2:
                raise CalculatorError("too few numbers")
            right = stack.pop()
            left = stack.pop()
            stack.append(OPERATIONS[word](right, left))
        else:
            stack.append(float(word))
    if len(stack) != 1:
        raise CalculatorError("too many numbers")
    return stack.pop()
