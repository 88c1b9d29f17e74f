from orders.export import record


def test_other_order():
    flat = record({"id": 2, "customer": {"name": "Bo", "address": {"city": "x", "zip": "y"}}, "items": []})
    assert flat == {"id": 2, "name": "Bo", "city": "x", "zip": "y", "items": 0, "total": 0}
