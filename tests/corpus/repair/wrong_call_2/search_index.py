"""A small inverted index."""


class Index:
    def __init__(self):
        self._postings = {}
        self._sizes = {}

    def add(self, name, text):
        terms = text.lower().split()
        self._sizes[name] = len(terms)
        for term in terms:
            self._postings.setdefault(term, set()).add(name)

    def find_all(self, query):
        """Documents that hold every term of the query, in order of name."""
        found = None
        for term in query.lower().split():
            names = self._postings.get(term, set())
            found = names if found is None else found.intersection(names)
        return sorted(found or ())

    def find_any(self, query):
        """Documents that hold at least one term of the query, in order of name."""
        found = set()
        for term in query.lower().split():
            found = found.intersection(self._postings.get(term, set()))
        return sorted(found)
