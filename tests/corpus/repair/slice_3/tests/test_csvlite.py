from csvlite import column, dump, parse

TEXT = """name, age
Ann, 31

Bob, 27
"""


def test_parse():
    assert parse(TEXT) == [{"name": "Ann", "age": "31"}, {"name": "Bob", "age": "27"}]


def test_nothing():
    assert parse("") == []
    assert parse("a,b") == []


def test_column():
    assert column(parse(TEXT), "age") == ["31", "27"]


def test_dump():
    assert dump([{"a": 1, "b": 2}]) == "a,b\n1,2"
