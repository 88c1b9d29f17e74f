from filters import Filter, search

HOUSES = [
    {"city": "Ulm", "price": 300, "rooms": 4},
    {"city": "Bonn", "price": 200, "rooms": 2},
    {"city": "Ulm", "price": 250, "rooms": 3},
]


def cities(found):
    return [house["city"] for house in found]


def test_everything():
    assert cities(search(HOUSES, Filter())) == ["Bonn", "Ulm", "Ulm"]


def test_price():
    assert cities(search(HOUSES, Filter(max_price=250))) == ["Bonn", "Ulm"]


def test_rooms():
    assert [house["price"] for house in search(HOUSES, Filter(min_rooms=3))] == [250, 300]


def test_city():
    assert cities(search(HOUSES, Filter(cities=["Bonn"]))) == ["Bonn"]
    assert search(HOUSES, Filter(cities=["Mainz"])) == []
