from orders import names, read_line, total


def test_read():
    assert read_line("pen; 1.5; 4") == {"name": "pen", "price": 1.5, "quantity": 4}


def test_total():
    assert total(["pen;1.5;4", "ink;3;1"]) == 9.0


def test_names():
    assert names(["pen;1;1"]) == ["pen"]
