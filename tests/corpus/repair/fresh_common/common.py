"""The longest common subsequence of two texts."""


def table_of(one, two):
    """Cell [i][j]: the length for the first i and the first j characters."""
    table = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(two) + 1):
            if one[i - 1] == two[j - 1]:
                table[i][j] = table[i - 1][j] + 1
            else:
                table[i][j] = max(table[i - 1][j], table[i][j - 1])
    return table


def common_length(one, two):
    return table_of(one, two)[-1][-1]


def similarity(one, two):
    longest = max(len(one), len(two))
    return common_length(one, two) / longest if longest else 1.0
