from datetime import date

from notes.store import load


def test_load():
    (note,) = load('[{"title": "t", "day": "2020-02-29", "tags": ["x"]}]')
    assert note.day == date(2020, 2, 29)
    assert note.tags == {"x"}
