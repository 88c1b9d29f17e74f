from life import neighbours, run, step


def test_neighbours():
    assert len(neighbours((5, 5))) == 8
    assert (5, 5) not in neighbours((5, 5))


def test_block_stays():
    block = {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert step(block) == block


def test_blinker():
    assert step({(0, 1), (1, 1), (2, 1)}) == {(1, 0), (1, 1), (1, 2)}


def test_run():
    assert run({(9, 9)}, 1) == set()
