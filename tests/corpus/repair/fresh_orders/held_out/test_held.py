from orders import line_total, total


def test_more():
    assert total([]) == 0
    assert line_total({"price": 2.5, "quantity": 3, "name": "cap"}) == 7.5
