import pytest

from board import empty_board, lines, place, winner


def test_empty():
    assert lines(empty_board(2, 3)) == ["...", "..."]


def test_place():
    board = place(empty_board(2, 2), 0, 1, "x")
    assert lines(board) == [".x", ".."]


def test_old_board_is_kept():
    before = empty_board(2, 2)
    place(before, 1, 1, "o")
    assert lines(before) == ["..", ".."]


def test_taken():
    board = place(empty_board(1, 1), 0, 0, "x")
    with pytest.raises(ValueError):
        place(board, 0, 0, "o")


def test_winner():
    assert winner([["x", "x"], ["o", "."]]) == "x"
    assert winner([["o", "x"], ["o", "."]]) == "o"
    assert winner(empty_board(2, 2)) is None
