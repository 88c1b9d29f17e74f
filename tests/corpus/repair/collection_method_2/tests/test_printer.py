from printer import Printer


def test_order():
    printer = Printer()
    printer.submit("a")
    printer.submit("b")
    assert printer.print_next() == "a"


def test_urgent():
    printer = Printer()
    printer.submit("a")
    printer.submit("b", urgent=True)
    assert printer.drain() == ["b", "a"]


def test_nothing():
    assert Printer().print_next() is None
