from roman import to_number, to_numeral


def test_to_number():
    assert to_number("XIV") == 14
    assert to_number("MCMXC") == 1990


def test_to_numeral():
    assert to_numeral(14) == "XIV"
    assert to_numeral(2023) == "MMXXIII"


def test_there_and_back():
    assert [to_number(to_numeral(number)) for number in range(1, 60)] == list(range(1, 60))
