"""Pay slips."""

from payroll.tax import net, tax


def slip(name, monthly):
    yearly = monthly * 12
    return {"name": name, "gross": yearly, "tax": tax(yearly), "net": net(yearly)}
