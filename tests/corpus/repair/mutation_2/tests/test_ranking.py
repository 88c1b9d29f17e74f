from ranking import normalised, ranked, without_best_and_worst


def test_ranked():
    assert ranked([{"name": "a", "score": 1}, {"name": "b", "score": 5}]) == ["b", "a"]


def test_without():
    assert without_best_and_worst([5, 1, 3, 4]) == [3, 4]


def test_input_is_kept():
    scores = [5, 1, 3]
    without_best_and_worst(scores)
    assert scores == [5, 1, 3]


def test_normalised():
    assert normalised([1, 4]) == [0.25, 1.0]
