"""Splits long result lists into pages."""


class Pager:
    """Numbers pages from 1. The last page may be shorter than the others."""

    def __init__(self, items, per_page=10):
        if per_page < 1:
            raise ValueError("per_page must be positive")
        self.items = list(items)
        self.per_page = per_page

    @property
    def page_count(self):
        return (len(self.items) + self.per_page - 1) // self.per_page

    def page(self, number):
        if not 1 <= number <= self.page_count:
            raise IndexError(f"no page {number}")
        start = number * self.per_page
        return self.items[start : start + self.per_page]

    def has_next(self, number):
        return number < self.page_count
