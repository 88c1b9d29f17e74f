"""Playlists."""


class Playlist:
    def __init__(self, name):
        self.name = name
        self.songs = []

    def add(self, song):
        self.songs.append(song)

    def add_all(self, songs):
        self.songs.append(songs)

    def move_to_front(self, song):
        self.songs.remove(song)
        self.songs.insert(0, song)

    def merge(self, other):
        """A new playlist with the songs of both, without doubles."""
        merged = Playlist(f"{self.name} + {other.name}")
        merged.add_all(self.songs)
        merged.add_all(song for song in other.songs if song not in self.songs)
        return merged

    def __len__(self):
        return len(self.songs)
