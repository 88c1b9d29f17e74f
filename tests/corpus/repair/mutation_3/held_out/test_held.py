from board import empty_board, lines, place


def test_history():
    boards = [empty_board(3, 3)]
    for at in range(3):
        boards.append(place(boards[-1], at, at, "x"))
    assert lines(boards[0]) == ["...", "...", "..."]
    assert lines(boards[2]) == ["x..", ".x.", "..."]
    assert lines(boards[3]) == ["x..", ".x.", "..x"]
