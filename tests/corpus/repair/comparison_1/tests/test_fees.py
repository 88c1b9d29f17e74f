from library.fees import fee


def test_free_days():
    assert fee(2) == 0


def test_per_day():
    assert fee(5) == 30


def test_capped():
    assert fee(400) == 500
