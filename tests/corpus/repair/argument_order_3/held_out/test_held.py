from diffing import removed


def test_more():
    assert removed({}, {"x": 1}) == []
    assert removed({"y": 1, "x": 2}, {}) == ["x", "y"]
