"""From a policy to counterfactuals: its first groups, samples of it, greedy steps."""

import numpy as np

from skcf._search._finish import shrink
from skcf._search._genetic import GeneticSearch
from skcf._search._policy import Policy, sample
from skcf._search._problem import Pool, rank_by
from skcf._space import PAD

N_BEAM = 5
N_SHRUNK = 2
# The search for rows for which a policy finds nothing.
GENETIC = {
    "q": 100,
    "k": 5,
    "m_init": 20,
    "m_mut": 5,
    "mutate": "best",
    "max_generations": 5,
}
SAMPLES = 1 << 20  # the turn of the draws; training has the smaller ones


def play_first(deck, policy, most):
    """Play the preferred groups of each query with their best values.

    The first one, the first two and so on up to `most`: the first of these that is in
    the target is what the greedy method stops at.
    """
    rank = np.argsort(policy.order, axis=1)
    n, n_columns = rank.shape
    size = np.arange(1, min(most, n_columns) + 1)
    chosen = (rank[:, None, :] < size[:, None]) & deck.edits.open[:, None, :]
    which = np.broadcast_to(policy.best_value[:, None, :], chosen.shape)
    who = np.repeat(np.arange(n), len(size))
    deck.play(who, chosen.reshape(-1, n_columns), which.reshape(-1, n_columns))


def play_samples(deck, policy, most, n_samples):
    """Play samples of a policy in which only its first `most` groups are changed."""
    rank = np.argsort(policy.order, axis=1)
    few = Policy(np.where(rank < most, policy.column, 0.0), policy.value)
    chosen, which = sample(deck, few, SAMPLES, n_samples)
    n, _, n_columns = chosen.shape
    who = np.repeat(np.arange(n), n_samples)
    deck.play(who, chosen.reshape(-1, n_columns), which.reshape(-1, n_columns))


def play_greedily(deck, rows, width):
    """Add one change after another for the queries at positions `rows`.

    Each step tries all values of all groups that are not changed yet, and keeps the
    `width` combinations that make the target most likely. A query is through when one
    is in the target, or when there are no more groups.
    """
    edits = deck.edits
    n_columns = edits.value.shape[1]
    chosen = np.zeros((len(rows), n_columns), dtype=bool)
    which = np.zeros((len(rows), n_columns), dtype=np.intp)
    for _ in range(n_columns):
        open_ = (edits.value[rows] >= 0) & ~chosen[:, :, None]
        task, column, value = np.nonzero(open_)
        if not len(task) or deck.problem.meter.expired:
            break
        tried, put = chosen[task], which[task]
        tried[np.arange(len(task)), column] = True
        put[np.arange(len(task)), column] = value
        margin, valid, _ = deck.play(rows[task], tried, put)
        row = rows[task]
        state = np.column_stack([row, np.where(tried, put, PAD)])
        # The same changes in another order are the same combination.
        first = np.sort(np.unique(state, axis=0, return_index=True)[1])
        first = first[~np.isin(row[first], row[valid])]
        first = first[rank_by(row[first], (first, -margin[first])) < width]
        rows, chosen, which = row[first], tried[first], put[first]
        if not len(rows):
            break


def rescued(deck, most, unlike):
    """Return all that was played, and more for queries without a counterfactual.

    Those without one of `most` changes combine edits greedily. Those without any then
    get the nearest of the candidates of `unlike`, with what they need not change undone
    or, where none of these is in the target, go through a genetic search.
    """
    problem, rows = deck.problem, deck.edits.row
    few = deck.pool.take(deck.pool.cands.n_changed <= most)
    play_greedily(deck, _lost(rows, few), N_BEAM)
    lost = rows[_lost(rows, deck.pool)]
    if not len(lost) or problem.meter.expired:
        return deck.pool
    pool = Pool.concat([deck.pool, _shrunk(problem, unlike(problem, lost))])
    lost = rows[_lost(rows, pool)]
    if not len(lost) or problem.meter.expired:
        return pool
    search = GeneticSearch(problem, **GENETIC, rescue=unlike)
    start = pool.take(np.isin(pool.row, lost))
    return Pool.concat([pool, search.run(lost, start)])


def _shrunk(problem, cands):
    """Return the pool of candidates, and of the nearest without needless changes."""
    cands, _ = problem.ground.cascade(cands, problem.seed)
    cands = cands.take(problem.unseen(cands))
    problem.remember(cands)
    pool = problem.score(cands)
    return Pool.concat([pool, shrink(problem, pool, N_SHRUNK)])


def _lost(rows, pool):
    """Return the positions in `rows` of queries without a valid candidate."""
    return np.flatnonzero(~np.isin(rows, pool.row[pool.valid]))
