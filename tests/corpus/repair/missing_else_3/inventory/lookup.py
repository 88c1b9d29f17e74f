"""Finds articles by number or by name."""


class Catalog:
    def __init__(self, articles):
        self._by_number = {article["number"]: article for article in articles}

    def by_number(self, number):
        return self._by_number.get(number)

    def by_name(self, name):
        """The article with that name, in any case of letters; None if there is none."""
        for article in self._by_number.values():
            if article["name"].lower() == name.lower():
                return article
        return None

    def find(self, text):
        """By number if the text is one, else by name."""
        if text.isdigit():
            self.by_number(int(text))
        return self.by_name(text)
