from encode import checksum


def test_more():
    assert checksum("79927398713") == 0
    assert checksum("18") == 0
    assert checksum("5") == 5
    assert checksum("91") == 0
