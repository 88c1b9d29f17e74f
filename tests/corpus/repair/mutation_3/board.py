"""Boards for tic-tac-toe and the like."""


def empty_board(rows, columns):
    return [["." for _ in range(columns)] for _ in range(rows)]


def place(board, row, column, mark):
    """A new board with the mark; the old one stays as it is."""
    if board[row][column] != ".":
        raise ValueError("taken")
    changed = list(board)
    changed[row][column] = mark
    return changed


def lines(board):
    return ["".join(row) for row in board]


def winner(board):
    """The mark that fills a row or a column of a square board, else None."""
    for line in [*board, *zip(*board)]:
        if line[0] != "." and len(set(line)) == 1:
            return line[0]
    return None
