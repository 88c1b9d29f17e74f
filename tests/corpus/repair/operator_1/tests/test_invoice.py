from invoice import Line, discounted, gross, subtotal

LINES = [Line("pen", 150, 4), Line("book", 1400)]


def test_subtotal():
    assert subtotal(LINES) == 2000


def test_discount():
    assert discounted(1000, 10) == 900


def test_gross_without_discount():
    assert gross(LINES, 20) == 2400


def test_gross_with_discount():
    assert gross(LINES, 20, 50) == 1200
