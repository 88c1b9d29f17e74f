from filters import Filter


def test_cities():
    house = {"city": "Ulm", "price": 1, "rooms": 1}
    assert Filter().accepts(house)
    assert Filter(cities=["Ulm", "Bonn"]).accepts(house)
    assert not Filter(cities=["Bonn"]).accepts(house)
    assert not Filter(max_price=0, cities=["Ulm"]).accepts(house)
