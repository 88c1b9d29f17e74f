"""A turnstile as a table of states."""

MOVES = {
    ("locked", "coin"): "unlocked",
    ("locked", "push"): "locked",
    ("unlocked", "coin"): "unlocked",
    ("unlocked", "push"): "unlocked",
}


class Turnstile:
    def __init__(self):
        self.state = "locked"
        self.passed = 0

    def handle(self, event):
        before = self.state
        self.state = MOVES[self.state, event]
        if before == "unlocked" and event == "push":
            self.passed += 1
        return self.state


def play(events):
    gate = Turnstile()
    return [gate.handle(event) for event in events]
