from events import Bus


def test_publish():
    bus, seen = Bus(), []
    bus.subscribe("saved", seen.append)
    assert bus.publish("saved", 7) == 1
    assert seen == [7]


def test_nobody_listens():
    assert Bus().publish("saved") == 0


def test_unsubscribe():
    bus, seen = Bus(), []
    bus.subscribe("saved", seen.append)
    bus.unsubscribe("saved", seen.append)
    bus.publish("saved", 1)
    assert seen == []


def test_log():
    bus = Bus()
    bus.publish("opened")
    bus.publish("saved")
    assert bus.log == ["opened", "saved"]
