import pytest

from leaderboard import Leaderboard


@pytest.fixture
def board():
    board = Leaderboard()
    for name, seconds in (("cy", 12.0), ("bo", 10.5), ("al", 12.0), ("di", 15.0)):
        board.submit(name, seconds)
    return board


def test_submit(board):
    assert board.submit("di", 11.0)
    assert not board.submit("di", 11.5)


def test_top(board):
    assert board.top(3) == [("bo", 10.5), ("al", 12.0), ("cy", 12.0)]


def test_rank(board):
    assert [board.rank(name) for name in ("bo", "al", "cy", "di")] == [1, 2, 2, 4]
