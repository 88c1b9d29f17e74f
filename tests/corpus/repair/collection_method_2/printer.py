"""Print jobs, first come, first served."""

from collections import deque


class Printer:
    def __init__(self):
        self._jobs = deque()
        self.printed = []

    def submit(self, job, urgent=False):
        if urgent:
            self._jobs.appendleft(job)
        else:
            self._jobs.append(job)

    def print_next(self):
        """Prints the job that waits at the front; None if none waits."""
        if not self._jobs:
            return None
        job = self._jobs.pop()
        self.printed.append(job)
        return job

    def drain(self):
        while self.print_next() is not None:
            pass
        return self.printed
