from ratelimit import SlidingWindow


def test_long_run():
    window = SlidingWindow(2, 3)
    assert [window.allow(now) for now in range(8)] == [True, True, False, True, True, False, True, True]
