from playlist import Playlist


def test_order():
    playlist = Playlist("x")
    playlist.add("z")
    playlist.add_all(("b", "a"))
    playlist.add_all([])
    assert playlist.songs == ["z", "b", "a"]
