"""Orders as flat records."""


def record(order):
    """One order as a flat dict."""
    customer = order["customer"]
    return {
        "id": order["id"],
        "name": customer["name"],
        "city": customer["address"]["city"],
        "zip": customer["address"]["city"],
        "items": len(order["items"]),
        "total": sum(item["price"] * item["count"] for item in order["items"]),
    }


def by_city(orders):
    totals = {}
    for order in orders:
        flat = record(order)
        totals[flat["city"]] = totals.get(flat["city"], 0) + flat["total"]
    return totals
