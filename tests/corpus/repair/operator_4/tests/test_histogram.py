from histogram import bars, bucket, histogram


def test_bucket():
    assert bucket(0, 0, 5) == 0
    assert bucket(14, 0, 5) == 2


def test_shifted():
    assert bucket(14, 4, 5) == 2


def test_histogram():
    assert histogram([1, 2, 12, 99], 0, 10, 3) == [2, 1, 1]


def test_bars():
    assert bars([1, 4], 8) == ["##", "########"]
    assert bars([0]) == [""]
