from library.members import Member


def test_default_limit():
    member = Member("Bob")
    for title in "abc":
        assert member.may_borrow()
        member.borrow(title)
    assert not member.may_borrow()


def test_zero_limit():
    assert not Member("Bob", limit=0).may_borrow()
