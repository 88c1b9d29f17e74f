from union import Groups


def test_join():
    groups = Groups("abcd")
    assert groups.join("a", "b")
    assert not groups.join("b", "a")
    assert groups.together("a", "b")
    assert not groups.together("a", "c")


def test_size():
    groups = Groups("abcd")
    groups.join("a", "b")
    groups.join("b", "c")
    assert [groups.size(member) for member in "abcd"] == [3, 3, 3, 1]


def test_alone():
    assert Groups("x").size("x") == 1
