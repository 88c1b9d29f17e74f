"""Publish and subscribe."""


class Bus:
    def __init__(self):
        self._handlers = {}
        self.log = []

    def subscribe(self, topic, handler):
        self._handlers.setdefault(topic, []).append(handler)

    def unsubscribe(self, topic, handler):
        self._handlers.get(topic, []).remove(handler)

    def publish(self, topic, *payload):
        """Calls the handlers of a topic; how many there were."""
        handlers = list(self._handlers.get(topic, []))
        for handler in handlers:
            handler(*payload)
        return len(handlers)
