from printer import Printer


def test_long_queue():
    printer = Printer()
    for job in range(5):
        printer.submit(job)
    printer.submit("now", urgent=True)
    assert printer.drain() == ["now", 0, 1, 2, 3, 4]
