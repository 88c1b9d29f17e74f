from reports.sales import Sales


def test_totals_between():
    sales = Sales()
    for cents in (1, 2, 3):
        sales.add("east", cents)
        sales.totals()
    sales.add("west", 9)
    assert sales.totals() == {"east": 6, "west": 9}
    assert sales.totals() is sales.totals()
