from csv_text import fields, joined


def test_more():
    assert fields("") == [""]
    assert fields(",") == ["", ""]
    assert fields(joined(["x", 'q"q', "1,2"])) == ["x", 'q"q', "1,2"]
