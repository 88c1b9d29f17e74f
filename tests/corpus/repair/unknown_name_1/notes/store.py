"""Notes kept as JSON text."""

import json


from notes.model import Note


def dump(notes):
    return json.dumps([{"title": note.title, "day": note.day.isoformat(), "tags": sorted(note.tags)} for note in notes])


def load(text):
    return [Note(entry["title"], date.fromisoformat(entry["day"]), entry["tags"]) for entry in json.loads(text)]


def latest(notes, count=1):
    return sorted(notes, key=lambda note: note.day, reverse=True)[:count]
