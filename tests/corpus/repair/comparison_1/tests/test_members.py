import pytest

from library.members import Member


def test_borrow_and_give_back():
    member = Member("Ada")
    member.borrow("Emma")
    member.give_back("Emma")
    assert member.loans == []


def test_limit():
    member = Member("Ada", limit=2)
    member.borrow("Emma")
    member.borrow("Ulysses")
    with pytest.raises(PermissionError):
        member.borrow("Middlemarch")


def test_room_again_after_giving_back():
    member = Member("Ada", limit=1)
    member.borrow("Emma")
    assert not member.may_borrow()
    member.give_back("Emma")
    assert member.may_borrow()
