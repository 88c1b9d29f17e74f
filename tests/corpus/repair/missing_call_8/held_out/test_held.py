from bfs import shortest


def test_large():
    maze = ["S" + "." * 30] + ["." * 31] * 20 + ["." * 30 + "E"]
    assert shortest(maze) == 51
    assert shortest(["S.", "##", ".E"]) is None
