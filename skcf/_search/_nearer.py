"""From candidates that reach the target to answers, as MACE does it."""

from skcf._search._descent import bisect, move_together
from skcf._search._diversity import fill, further, spread_columns
from skcf._search._finish import finish, minimal, shrink
from skcf._search._problem import Pool, rank_in_row
from skcf._space import Candidates

N_FINISHED = 2
N_SHRUNK = 12
N_SETS = 60
N_SHORT = 200


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
        best = finish(problem, _promising(problem, pool), rows, N_FINISHED)
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


def _promising(problem, pool):
    """Return the candidates of a pool that may lead to nearer answers.

    The best of some change sets, and what falls short at less cost. The gains of values
    are fitted to these again: a policy tries much that is far from the boundary.
    """
    valid = problem.best_of_each(pool.take(pool.valid))
    valid = valid.take(rank_in_row(valid.row) < N_SETS)
    short = pool.take(~pool.valid)
    bound = problem.least_cost(valid)
    short = problem.best(short.take(short.cost <= bound[short.row]), N_SHORT)
    some = Pool.concat([valid, short])
    width = int(some.cands.n_changed.max(initial=0))
    some.cands = Candidates(some.row, some.cands.value[:, :width])
    problem.effects.relearn(some.cands, problem.model.strength(some.margin))
    return some
