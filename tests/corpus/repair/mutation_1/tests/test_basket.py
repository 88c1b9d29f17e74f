from basket import Basket, collect


def test_total():
    assert Basket().add("pen", 2).add("ink", 5).total() == 7


def test_baskets_are_apart():
    first, second = Basket(), Basket()
    first.add("pen", 2)
    assert second.items == []


def test_collect_into():
    names = ["a"]
    assert collect("b", names) is names
    assert names == ["a", "b"]


def test_collect_anew():
    assert collect("a") == ["a"]
    assert collect("b") == ["b"]
