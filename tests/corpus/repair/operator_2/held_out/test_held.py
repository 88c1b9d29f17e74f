from permissions import ADMIN, READ, WRITE, revoke


def test_revoke_more():
    assert revoke(0, READ) == 0
    assert revoke(ADMIN, ADMIN) == 0
    assert revoke(READ | WRITE, READ) == WRITE
