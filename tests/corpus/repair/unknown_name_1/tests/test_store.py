from datetime import date

from notes.model import Note
from notes.store import dump, latest, load

FIRST = Note("first", date(2024, 1, 2), ["b", "a"])
SECOND = Note("second", date(2024, 5, 6))


def test_round_trip():
    notes = load(dump([FIRST, SECOND]))
    assert [note.title for note in notes] == ["first", "second"]
    assert notes[0].day == date(2024, 1, 2)
    assert notes[0].has_tag("a")


def test_latest():
    assert latest([FIRST, SECOND]) == [SECOND]
