from signup import strong_password


def test_all_parts_needed():
    assert not strong_password("ABCDEFGH")
    assert not strong_password("A1")
    assert not strong_password("12345678")
    assert strong_password("aaaaaaA1")
