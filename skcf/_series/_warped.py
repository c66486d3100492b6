"""Nearest mixtures under dynamic time warping: paths and mixtures in turn."""

from dataclasses import replace

MAX_TURNS = 20


def alternate(task, cost, solve):
    """Return the mixtures of the last turn, and the costs that the turns went through.

    With the warping path held, the squared distance is a quadratic of the mixture, and
    `solve` looks for the cheapest one; with the mixture held, the best path is found
    by dynamic programming. Neither step raises the cost.

    Parameters
    ----------
    task : Task
    cost : SeriesCost
    solve : function
        Returns the mixtures of a task, cheapest first.
    """
    found = solve(task)
    if not found:
        return found, []
    best, costs = found[0], []
    while True:
        warped = replace(
            task, quadratic=cost.quadratic(task.x, cost.path(task.x, best.codes))
        )
        # Path and mixture are those of one cost: compare sums of squares.
        best = replace(best, cost=warped.total(best.codes))
        costs.append(best.cost)
        if len(costs) > MAX_TURNS or task.meter.expired:
            break
        new = solve(warped)
        if not new or new[0].cost >= best.cost * (1 - 1e-9):
            break
        best = new[0]
    rest = [replace(m, cost=_warped_cost(task, cost, m)) for m in found[:5]]
    rest.sort(key=lambda m: m.cost)
    return [best, *(m for m in rest if m.cost >= best.cost)], costs


def _warped_cost(task, cost, mixture):
    return float(cost.rows(task.x[None], mixture.codes[None])[0])
