from orders.export import by_city, record

ORDER = {
    "id": 1,
    "customer": {"name": "Ann", "address": {"city": "Ulm", "zip": "89073"}},
    "items": [{"price": 5, "count": 2}, {"price": 3, "count": 1}],
}


def test_total():
    assert record(ORDER)["total"] == 13
    assert record(ORDER)["items"] == 2


def test_address():
    flat = record(ORDER)
    assert flat["city"] == "Ulm"
    assert flat["zip"] == "89073"


def test_by_city():
    assert by_city([ORDER, ORDER]) == {"Ulm": 26}
