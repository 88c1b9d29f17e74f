from reports.sales import Sales


def test_totals():
    sales = Sales()
    sales.add("north", 100)
    sales.add("south", 250)
    sales.add("north", 5)
    assert sales.totals() == {"north": 105, "south": 250}


def test_later_additions_count():
    sales = Sales()
    sales.add("north", 100)
    assert sales.totals() == {"north": 100}
    sales.add("north", 50)
    assert sales.totals() == {"north": 150}


def test_lines():
    sales = Sales()
    sales.add("south", 1999)
    sales.add("north", 5)
    assert sales.lines() == ["north: 0.05", "south: 19.99"]
