"""Tasks in an order that respects what they need."""


class Circle(Exception):
    """Tasks need each other."""


def ordered(needs):
    """`needs`: task -> tasks that come before it. Equal candidates in alphabetical order."""
    waiting = {task: len(before) for task, before in needs.items()}
    followers = {task: [] for task in needs}
    for task, before in needs.items():
        for other in before:
            followers[other].append(task)
    ready = sorted(task for task, count in waiting.items() if count == 0)
    result = []
    while ready:
        task = ready.pop(0)
        result.append(task)
        for follower in followers[task]:
            waiting[follower] -= 1
            if waiting[task] == 0:
                ready.append(follower)
        ready.sort()
    if len(result) < len(needs):
        raise Circle
    return result
