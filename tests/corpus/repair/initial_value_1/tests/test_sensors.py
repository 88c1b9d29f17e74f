from sensors import average_by_place, frost_days, warmest


def test_warmest():
    assert warmest([("roof", 21.5), ("cellar", 12.0)]) == ("roof", 21.5)


def test_warmest_in_winter():
    assert warmest([("roof", -7.0), ("cellar", -1.5), ("yard", -9)]) == ("cellar", -1.5)


def test_no_readings():
    assert warmest([]) is None


def test_average():
    assert average_by_place([("a", 1), ("b", 4), ("a", 3)]) == {"a": 2.0, "b": 4.0}


def test_frost():
    assert frost_days([[3, -1], [2, 4], [-5, -6]]) == 2
