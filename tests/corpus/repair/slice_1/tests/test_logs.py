from logs import errors, parse, rotate, tail

LINES = ["INFO 10:00 started", "ERROR 10:01 no disk", "INFO 10:02 still here", "ERROR 10:03 no disk again"]


def test_parse():
    assert parse(LINES[1]) == {"level": "ERROR", "time": "10:01", "message": "no disk"}


def test_tail():
    assert tail(LINES, 1) == ["ERROR 10:03 no disk again"]
    assert tail(LINES, 0) == []


def test_rotate():
    kept, archived = rotate(["a", "b", "c"], 2)
    assert kept == ["b", "c"]
    assert archived == ["a"]


def test_rotate_few():
    assert rotate(["a"], 5) == (["a"], [])


def test_errors():
    assert errors(LINES) == ["no disk", "no disk again"]
