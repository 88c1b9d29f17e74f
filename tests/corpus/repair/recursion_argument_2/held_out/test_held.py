from menu import outline


def test_deep():
    menu = [{"label": "a", "children": [{"label": "b", "children": [{"label": "c", "children": [{"label": "d"}]}]}]}]
    assert outline(menu) == ["a", "  b", "    c", "      d"]
    assert outline(menu, 1)[0] == "  a"
