import pytest

from queue_worker.retry import GaveUp, Job, run


def failing(times):
    left = [times]

    def action():
        if left[0]:
            left[0] -= 1
            raise OSError("busy")

    return action


def test_at_once():
    assert run(Job(failing(0))) == 1


def test_second_try():
    assert run(Job(failing(1))) == 2


def test_gives_up():
    with pytest.raises(GaveUp):
        run(Job(failing(9), retries=2))


def test_not_twice():
    calls = []
    job = Job(lambda: calls.append(1))
    run(job)
    run(job)
    assert calls == [1]
