from distances import distances, farthest

LINE = {"a": ["b"], "b": ["c"], "c": ["d"], "d": []}


def test_line():
    assert distances(LINE, "a") == {"a": 0, "b": 1, "c": 2, "d": 3}


def test_out_of_reach():
    assert distances(LINE, "d") == {"d": 0}


def test_circle():
    assert distances({1: [2], 2: [1]}, 1) == {1: 0, 2: 1}


def test_farthest():
    assert farthest({"z": ["c"], "c": ["b"], "b": []}, "z") == "b"
