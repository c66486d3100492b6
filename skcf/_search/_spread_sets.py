"""Sets of counterfactuals that are near to a query and far from one another."""

import numpy as np

N_CANDIDATES = 60
N_PASSES = 3


def choose_sets(problem, pool, k, *, proximity, diversity):
    """Return the positions of `k` candidates of each query, cheapest first.

    The set maximises, by greedy choice and exchange, `diversity` times the determinant
    of the kernel :math:`1 / (1 + d)` over its members' distances, less `proximity`
    times the mean of their costs. The cheapest candidate is always a member.

    Parameters
    ----------
    problem : Problem
    pool : Pool
        Valid candidates in the order of `Problem.order`.
    k : int
    proximity, diversity : float
    """
    codes = pool.cands.codes(problem.x, problem.values)
    chosen = [np.empty(0, dtype=np.intp)]
    for row in np.unique(pool.row):
        at = np.flatnonzero(pool.row == row)
        at = at[np.unique(np.linspace(0, len(at) - 1, N_CANDIDATES).astype(int))]
        d = problem.ruler.rows(codes[at][:, None], codes[at][None])
        kernel = 1.0 / (1.0 + d)
        set_ = _one_set(kernel, pool.cost[at], k, proximity, diversity)
        chosen.append(at[np.sort(set_)])
    return np.concatenate(chosen)


def _one_set(kernel, cost, k, proximity, diversity):
    """Return the positions of the members of one set; the first candidate is one."""
    n = len(cost)

    def worth(members):
        members = np.asarray(members)
        spread = np.linalg.det(kernel[members[:, :, None], members[:, None, :]])
        return np.round(diversity * spread - proximity * cost[members].mean(axis=1), 12)

    members = [0]
    while len(members) < min(k, n):
        others = np.setdiff1d(np.arange(n), members)
        members.append(others[worth([[*members, o] for o in others]).argmax()])
    best = worth([members])[0]
    for _ in range(N_PASSES):
        before = best
        for place in range(1, len(members)):
            others = np.setdiff1d(np.arange(n), members)
            if not len(others):
                break
            tries = [[*members[:place], o, *members[place + 1 :]] for o in others]
            value = worth(tries)
            if value.max() > best:
                best, members = value.max(), tries[value.argmax()]
        if best == before:
            break
    return np.array(members)
