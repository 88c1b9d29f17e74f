from roman import to_number, to_numeral


def test_more():
    assert to_numeral(1990) == "MCMXC"
    assert all(to_number(to_numeral(number)) == number for number in range(1, 2000))
