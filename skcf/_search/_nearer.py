"""From candidates that reach the target to answers, as MACE does it."""

import numpy as np

from skcf._search._descent import bisect, move_together
from skcf._search._diversity import (
    change_sets,
    dearer,
    fill,
    further,
    spares,
    spread_columns,
)
from skcf._search._explore import explore
from skcf._search._finish import minimal, refine, shrink, sweep
from skcf._search._problem import Pool, rank_in_row
from skcf._search._single import single_changes
from skcf._space import Candidates

N_FINISHED = 3
# A policy has looked at more before than a genetic search has.
N_ROUNDS = 5
N_SHRUNK = 12
N_SETS = 60
N_SHORT = 200


def brought_nearer(problem, pool, rows, k, *, finishing, most, min_saving, **descent):
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
    min_saving : float
        The share of the cost that a further change has to save.
    **descent : dict
        The parameters of `move_together`.

    Returns
    -------
    pool : Pool
        In place of costs, what the answers are worth: lower is better.
    """

    def worth(some):
        raised = (1.0 - min_saving) ** (1.0 - some.cands.n_changed)
        return Pool(some.cands, some.cost * raised, some.margin, some.valid)

    if finishing:
        best = _finished(problem, _promising(problem, pool), rows, worth)
    else:
        best = _chosen(problem, pool, N_FINISHED, most)
    best = worth(minimal(problem, move_together(problem, best, **descent)))
    if k == 1:
        return dearer(problem, best, worth(spares(problem, pool)))
    if finishing:
        # A change alone is another way out, however much it takes.
        pool = single_changes(problem, pool, rows, np.full(len(problem), np.inf))
    others = _chosen(problem, pool, problem.n_ways(k), most)
    others = worth(minimal(problem, move_together(problem, others, **descent)))
    return further(problem, dearer(problem, best, others), worth(pool), k)


def _finished(problem, pool, rows, worth):
    """Return the cheapest candidate of each query, and the one that is worth most.

    As `finish` does, but single changes are looked at as far as one is worth more than
    the best of several changes.
    """
    bound = problem.least_cost(worth(pool))
    pool = single_changes(problem, pool, rows, bound)
    pool = explore(problem, pool, N_ROUNDS)
    best = shrink(problem, pool, 1)
    rest = problem.best_of_each(worth(pool.take(pool.valid)))
    known, kind = change_sets(problem, best.cands, rest.cands)
    rest = rest.take(~np.isin(kind, known))
    rest = rest.take(rank_in_row(rest.row) < 1)
    rest.cost = problem.cost_of(rest.cands)
    both = Pool.concat([best, shrink(problem, rest, 1)])
    return refine(problem, sweep(problem, both, N_FINISHED), N_FINISHED)


def _chosen(problem, pool, k, most):
    """Return `k` candidates of each query that are different ways out, bisected."""
    few = minimal(problem, shrink(problem, pool, k + N_SHRUNK))
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
