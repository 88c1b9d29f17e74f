from staff import Manager


def test_more():
    boss = Manager("Dee", 30, 4)
    assert boss.label() == "Dee (34)"
    assert boss.name == "Dee"
