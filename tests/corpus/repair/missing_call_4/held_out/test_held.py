from union import Groups


def test_sizes():
    groups = Groups(range(10))
    for number in range(9):
        groups.join(number, number + 1)
        assert groups.size(number + 1) == groups.size(0) == number + 2
