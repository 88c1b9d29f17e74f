from emailer import MailingList


def test_remove_more():
    members = MailingList()
    members.add("x@y.z")
    members.add("a@b.c")
    members.remove("nobody@y.z")
    members.remove("  X@Y.Z ")
    assert "x@y.z" not in members
    assert "a@b.c" in members
