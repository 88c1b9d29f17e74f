from diffing import added, changed, removed, summary

OLD = {"a": 1, "b": 2, "c": 3}
NEW = {"b": 2, "c": 4, "d": 5}


def test_added():
    assert added(OLD, NEW) == ["d"]


def test_removed():
    assert removed(OLD, NEW) == ["a"]


def test_changed():
    assert changed(OLD, NEW) == ["c"]


def test_summary():
    assert summary(OLD, NEW) == "added: d; removed: a; changed: c"
    assert summary(OLD, OLD) == "no changes"
