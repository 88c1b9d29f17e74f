from routes import costs


def test_more():
    ring = {1: {2: 1}, 2: {3: 1}, 3: {4: 1}, 4: {1: 1}}
    assert costs(ring, 2) == {2: 0, 3: 1, 4: 2, 1: 3}
