"""Best times of a race; lower is better."""


class Leaderboard:
    def __init__(self):
        self._times = {}

    def submit(self, name, seconds):
        """Keeps the best time of each name; whether it was a new best one."""
        best = self._times.get(name)
        if best is not None and seconds >= best:
            return False
        self._times[name] = seconds
        return True

    def top(self, count):
        """(name, seconds) of the best ones, equal times in order of name."""
        ordered = sorted(self._times.items(), key=lambda item: item[1], reverse=True)
        return ordered[:count]

    def rank(self, name):
        """Place of a name, counted from 1; equal times share a place."""
        own = self._times[name]
        return 1 + sum(1 for seconds in self._times.values() if seconds < own)
