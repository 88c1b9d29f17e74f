from runs import decoded, encoded


def test_encoded():
    assert encoded("aaab") == "3a1b"
    assert encoded("") == ""


def test_decoded():
    assert decoded("3a1b") == "aaab"


def test_long_runs():
    assert decoded("12x") == "x" * 12


def test_there_and_back():
    assert decoded(encoded("zzzzzzzzzzzy")) == "zzzzzzzzzzzy"
