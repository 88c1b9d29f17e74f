from permissions import ADMIN, DELETE, READ, WRITE, allows, grant, names, revoke


def test_grant():
    assert grant(READ, WRITE) == 3


def test_revoke():
    assert revoke(ADMIN, DELETE) == READ | WRITE
    assert revoke(READ, WRITE) == READ


def test_allows():
    assert allows(ADMIN, WRITE)
    assert not allows(READ, READ | WRITE)


def test_names():
    assert names(READ | DELETE) == ["read", "delete"]
