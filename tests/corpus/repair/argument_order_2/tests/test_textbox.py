from textbox import fit, row, table


def test_fit():
    assert fit("ab", 4) == "ab  "
    assert fit("abcdef", 4) == "abc…"
    assert fit("ab", 4, ".") == "ab.."


def test_row():
    assert row(["a", "bcd"], [2, 3]) == "| a  | bcd |"


def test_table():
    assert table([["a", "bb"], ["ccc", "d"]]) == "| a   | bb |\n| ccc | d  |"
