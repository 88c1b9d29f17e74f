"""What late books cost."""

FREE_DAYS = 2


def fee(days_late, per_day=10):
    """In cents; the first days are free, the fee is at most 500."""
    if days_late <= FREE_DAYS:
        return 0
    return min((days_late - FREE_DAYS) * per_day, 500)
