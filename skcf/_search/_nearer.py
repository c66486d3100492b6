"""From candidates that reach the target to answers, as MACE does it."""

from skcf._search._descent import bisect, move_together
from skcf._search._diversity import fill, further, spread_columns
from skcf._search._finish import finish, minimal, shrink
from skcf._search._problem import Pool

N_FINISHED = 3
N_SHRUNK = 12


def brought_nearer(problem, pool, rows, k, *, finishing, most, **descent):
    """Return answers to the queries at `rows`, out of a pool.

    Needless changes are undone, different ways out are chosen, and their numbers are
    moved nearer, alone and together. The first answer does not hang on `k`.

    Parameters
    ----------
    problem : Problem
    pool : Pool
    rows : ndarray of shape (n,)
    k : int
        How many answers are wanted.
    finishing : bool
        Whether the shared finish looks for nearer candidates too.
    most : int
        The most answers that change the same group, as long as there are others.
    **descent : dict
        The parameters of `move_together`.
    """
    if finishing:
        best = finish(problem, pool, rows, N_FINISHED)
    else:
        best = _chosen(problem, pool, N_FINISHED, most)
    best = minimal(problem, move_together(problem, best, **descent))
    if k == 1:
        return best
    others = _chosen(problem, pool, problem.n_ways(k), most)
    others = minimal(problem, move_together(problem, others, **descent))
    bound = problem.least_cost(best)
    best = Pool.concat([best, others.take(others.cost >= bound[others.row])])
    return further(problem, best, pool, k)


def _chosen(problem, pool, k, most):
    """Return `k` candidates of each query that are different ways out, bisected."""
    few = shrink(problem, pool, k + N_SHRUNK)
    few = fill(problem, spread_columns(problem, few, k, most), few, k)
    return bisect(problem, few)
