from playlist import Playlist


def test_add():
    playlist = Playlist("one")
    playlist.add("a")
    assert playlist.songs == ["a"]


def test_add_all():
    playlist = Playlist("one")
    playlist.add_all(["a", "b"])
    assert len(playlist) == 2


def test_move_to_front():
    playlist = Playlist("one")
    for song in "abc":
        playlist.add(song)
    playlist.move_to_front("c")
    assert playlist.songs == ["c", "a", "b"]


def test_merge():
    first, second = Playlist("one"), Playlist("two")
    first.add_all(["a", "b"])
    second.add_all(["b", "c"])
    merged = first.merge(second)
    assert merged.songs == ["a", "b", "c"]
    assert merged.name == "one + two"
