from events import Bus


def test_log_with_payload():
    bus = Bus()
    bus.subscribe("a", lambda *values: None)
    bus.publish("a", "payload", 3)
    bus.publish("a")
    assert bus.log == ["a", "a"]
