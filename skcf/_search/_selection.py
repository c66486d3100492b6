"""Selection as compiled loops: what is worth scoring, and how the fittest stand."""

import numpy as np

from skcf._jit import jit
from skcf._search._kernels import costs, first_of_each, top_of_each
from skcf._space._kernels import count_changes, hash_values, mixed


@jit
def promising(row, cost, guess, ties, urgent, most):
    """Return the mask of the `most` children of each query to expect most of.

    First those that should be valid, by cost, then the others by what they cost and
    lack, or by what they lack alone where a query is urgent. Equal ones go by `ties`,
    if there are any, and as they come. `guess` is the strength that is expected.
    """
    n = len(urgent)
    size = np.zeros(n, np.int64)
    for r in row:
        size[r] += 1
    unlikely, fitness = np.zeros(len(row)), np.zeros(len(row))
    if size.max() <= most:
        return np.ones(len(row), np.bool_)
    for i in range(len(row)):
        if size[row[i]] <= most:
            continue
        fitness[i] = cost[i]
        if not guess[i] > 0:
            short = 1.0 / (1.0 + np.exp(guess[i]))
            unlikely[i] = 1.0
            fitness[i] = short if urgent[row[i]] else cost[i] + short
        fitness[i] = np.rint(fitness[i] * 1e9) / 1e9
    return top_of_each(row, n, most, unlikely, fitness, ties)


@jit
def worthwhile(row, value, guess, new, mark, priced, of_query, most):
    """Return (position, cost) of the candidates to score, out of those at `new`.

    The `most` of each query of which most is expected, of those that cost less than the
    bound and do not change too much. `of_query` is (bound, limit of changes, urgent).
    """
    (x, ptr, col, code), group, (ruler, weight, norms) = priced
    bound, limit, urgent = of_query
    row, value, guess = row[new], value[new], guess[new]
    cost = costs(row, value, x, ptr, col, code, group, ruler, weight, norms)
    few = count_changes(value) <= limit[row]
    near = np.flatnonzero((cost < bound[row]) & few)
    cost, ties = cost[near], hash_values(value[near], mark)
    best = promising(row[near], cost, guess[near], ties, urgent, most)
    return new[near[best]], cost[best]


@jit
def leaders(row, value, group, live):
    """Return the positions of the first of each change set of the queries that live."""
    at = np.flatnonzero(live[row])
    return at[first_of_each(at, row, value, group)]


@jit
def standing(row, value, cost, valid, mark, n, n_top, k):
    """Return what the search goes by of a population that is sorted.

    For each of `n` queries: 64 bits that stand for its `n_top` fittest, whether all of
    these are valid, and the cost of its `k`-th valid one, inf if there are fewer.
    """
    rank = np.zeros(n, np.int64)
    bits = np.zeros(n, np.uint64)
    certain = np.ones(n, np.bool_)
    bound = np.full(n, np.inf)
    top = np.empty(min(len(row), n * n_top), np.int64)
    n_held = 0
    for i in range(len(row)):
        r = row[i]
        if rank[r] < n_top:
            top[n_held] = i
            n_held += 1
        if valid[i] and rank[r] == k - 1:
            bound[r] = cost[i]
        rank[r] += 1
    top = top[:n_held]
    marks = hash_values(value[top], mark)
    for t in range(n_held):
        r = row[top[t]]
        bits[r] ^= mixed(marks[t])
        certain[r] = certain[r] and valid[top[t]]
    return bits, certain, bound
