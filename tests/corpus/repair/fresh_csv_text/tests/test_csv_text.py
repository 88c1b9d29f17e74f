from csv_text import fields, joined


def test_plain():
    assert fields("a,b,c") == ["a", "b", "c"]


def test_quoted():
    assert fields('a,"b,c",d') == ["a", "b,c", "d"]


def test_doubled():
    assert fields('"say ""hi"""') == ['say "hi"']


def test_joined():
    assert joined(["a", "b,c"]) == 'a,"b,c"'
