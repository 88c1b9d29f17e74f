from textbox import row, table


def test_more_rows():
    assert row(["long text"], [4]) == "| lon… |"
    assert table([["x"], ["yy"]]) == "| x  |\n| yy |"
