from stats import product


def test_product_more():
    assert product([5]) == 5
    assert product([0, 3]) == 0
    assert product([-1, 4]) == -4
