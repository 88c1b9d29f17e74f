from ranking import without_best_and_worst


def test_more():
    scores = [9, 9, 0, 2]
    assert without_best_and_worst(scores) == [2, 9]
    assert scores == [9, 9, 0, 2]
    assert without_best_and_worst((3, 1, 2)) == [2]
