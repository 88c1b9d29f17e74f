"""Orders tasks so that each comes after those that it needs."""


class Cycle(Exception):
    pass


def order(needs):
    """`needs` maps a task to the tasks that have to come first."""
    done = []
    state = {}

    def visit(task):
        if state.get(task) == "done":
            return
        if state.get(task) == "open":
            raise Cycle(task)
        state[task] = "open"
        done.append(task)
        for before in needs.get(task, ()):
            visit(before)
        state[task] = "done"

    for task in sorted(needs):
        visit(task)
    return done
