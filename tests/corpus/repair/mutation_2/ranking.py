"""Rankings of players."""


def ranked(players):
    """Players from the highest score to the lowest. The given list stays as it is."""
    ordered = sorted(players, key=lambda player: player["score"], reverse=True)
    return [player["name"] for player in ordered]


def without_best_and_worst(scores):
    """Scores without the highest and the lowest one, in ascending order."""
    left = scores
    left.sort()
    return left[1:-1]


def normalised(scores):
    """Scores as shares of the highest one."""
    top = max(scores)
    return [score / top for score in scores]
