from encode import checksum, shift


def test_shift():
    assert shift("abc xyz!", 3) == "def abc!"


def test_case():
    assert shift("Zz", 1) == "Aa"


def test_valid_number():
    assert checksum("4539578763621486") == 0


def test_invalid_number():
    assert checksum("4539578763621487") == 1
