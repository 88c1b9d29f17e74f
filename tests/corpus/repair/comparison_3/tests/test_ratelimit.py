from ratelimit import SlidingWindow


def test_within_limit():
    window = SlidingWindow(2, 10)
    assert window.allow(0)
    assert window.allow(1)
    assert not window.allow(2)


def test_old_requests_are_forgotten():
    window = SlidingWindow(1, 10)
    assert window.allow(0)
    assert not window.allow(9)
    assert window.allow(10)


def test_free():
    window = SlidingWindow(3, 5)
    window.allow(0)
    window.allow(4)
    assert window.free(4) == 1
    assert window.free(5) == 2
