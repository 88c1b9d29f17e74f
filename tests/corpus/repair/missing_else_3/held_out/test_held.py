from inventory.lookup import Catalog


def test_digits_as_name():
    catalog = Catalog([{"number": 1, "name": "2"}, {"number": 2, "name": "x"}])
    assert catalog.find("2")["name"] == "x"
    assert catalog.find("3") is None
    assert catalog.find("X")["number"] == 2
