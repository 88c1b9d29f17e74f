"""Runs jobs again after failures."""


class GaveUp(Exception):
    pass


class Job:
    def __init__(self, action, retries=2):
        self.action = action
        self.retries = retries
        self.attempts = 0
        self.done = False

    def run_once(self):
        """One attempt; whether the job is over."""
        if not self.done:
            return True
        self.attempts += 1
        try:
            self.action()
        except OSError:
            return False
        self.done = True
        return True


def run(job):
    """Attempts until the job is done. Raises GaveUp after its retries."""
    while not job.run_once():
        if job.attempts > job.retries:
            raise GaveUp(f"failed {job.attempts} times")
    return job.attempts
