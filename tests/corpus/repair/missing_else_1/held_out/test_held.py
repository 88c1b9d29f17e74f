from shipping import shipping


def test_all_kinds():
    assert shipping("FR", 400, member=True) == 0
    assert shipping("FR", 600, member=True) == 1180
    assert shipping("FR", 600) == 1180
    assert shipping("DE", 600, member=True, express=True) == 1000
