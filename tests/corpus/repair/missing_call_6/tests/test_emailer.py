import pytest

from emailer import MailingList, is_valid


def test_add():
    members = MailingList()
    assert members.add("Ann@Example.org")
    assert not members.add(" ann@example.org ")
    assert len(members) == 1


def test_remove():
    members = MailingList()
    members.add("ann@example.org")
    members.add("bob@example.org")
    members.remove("Ann@example.org")
    assert len(members) == 1


def test_contains():
    members = MailingList()
    members.add("bob@example.org")
    assert "BOB@example.org" in members


def test_valid():
    assert is_valid("a@b.c")
    assert not is_valid("a.b.c")
    with pytest.raises(ValueError):
        MailingList().add("nobody")
