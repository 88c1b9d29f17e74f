from toposort import order


def test_positions():
    needs = {"shirt": [], "tie": ["shirt"], "jacket": ["tie", "trousers"], "trousers": [], "shoes": ["trousers", "socks"]}
    found = order(needs)
    assert sorted(found) == ["jacket", "shirt", "shoes", "socks", "tie", "trousers"]
    assert all(found.index(before) < found.index(task) for task, wanted in needs.items() for before in wanted)
