from grades import letter


def test_every_bound():
    assert [letter(points) for points in (100, 91, 90, 80, 79, 61, 60, 59, 0)] == list("AAABCDDFF")
