from islands import islands


def test_more():
    assert islands(["###", "#.#", "###"]) == [8]
    assert islands([".#.", "##.", "#.."]) == [4]
    assert islands(["...#", ".###", ".#.."]) == [5]
