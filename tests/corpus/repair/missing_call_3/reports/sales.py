"""Sales by region."""

from reports.text import money


class Sales:
    def __init__(self):
        self._rows = []
        self._totals = None

    def add(self, region, cents):
        self._rows.append((region, cents))

    def _invalidate(self):
        self._totals = None

    def totals(self):
        """Region -> cents; kept until something is added."""
        if self._totals is None:
            self._totals = {}
            for region, cents in self._rows:
                self._totals[region] = self._totals.get(region, 0) + cents
        return self._totals

    def lines(self):
        return [f"{region}: {money(cents)}" for region, cents in sorted(self.totals().items())]
