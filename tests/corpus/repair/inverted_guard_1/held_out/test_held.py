from queue_worker.retry import Job, run


def test_states():
    calls = []
    job = Job(lambda: calls.append(1))
    assert job.run_once()
    assert job.done
    assert job.run_once()
    assert calls == [1]
    assert run(job) == 1
