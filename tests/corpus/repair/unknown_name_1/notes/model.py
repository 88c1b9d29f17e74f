"""What a note is."""


class Note:
    def __init__(self, title, day, tags=()):
        self.title = title
        self.day = day
        self.tags = set(tags)

    def has_tag(self, tag):
        return tag in self.tags
