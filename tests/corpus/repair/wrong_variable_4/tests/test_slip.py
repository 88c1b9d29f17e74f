from payroll.slip import slip


def test_slip():
    assert slip("Ann", 1000) == {"name": "Ann", "gross": 12000, "tax": 400, "net": 11600}
