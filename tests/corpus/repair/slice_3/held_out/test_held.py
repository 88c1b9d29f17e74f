from csvlite import parse


def test_first_data_row_stays():
    assert parse("x\n1\n2\n3") == [{"x": "1"}, {"x": "2"}, {"x": "3"}]
    assert parse("x,y\nx,y") == [{"x": "x", "y": "y"}]
