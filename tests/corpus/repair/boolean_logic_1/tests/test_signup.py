from signup import problems, strong_password, valid_user_name


def test_user_name():
    assert valid_user_name("ada99")
    assert not valid_user_name("9ada")
    assert not valid_user_name("")


def test_strong():
    assert strong_password("Secret77")


def test_weak():
    assert not strong_password("Secret")
    assert not strong_password("secret77")
    assert not strong_password("Secretary")


def test_problems():
    assert problems({"name": "ada", "password": "Secret77", "repeated": "Secret77"}) == []
    assert problems({"name": "ada", "password": "Short", "repeated": "x"}) == ["password", "repeated"]
