from life import run


def test_glider():
    glider = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}
    assert run(glider, 4) == {(x + 1, y + 1) for x, y in glider}
