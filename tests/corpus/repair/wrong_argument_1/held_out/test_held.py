from leaderboard import Leaderboard


def test_more():
    board = Leaderboard()
    for name in "zyx":
        board.submit(name, 1)
    board.submit("a", 0.5)
    assert [name for name, _ in board.top(9)] == ["a", "x", "y", "z"]
