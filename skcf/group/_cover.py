"""Set covering: the fewest clusters that hold all rows."""

import numpy as np

from skcf._mip._adapter import Mip


def fewest(members, n_rows, time_limit=None):
    """Return the fewest sets that together hold every row, and a bound.

    Parameters
    ----------
    members : list of ndarray of int
        The rows of each set; every row is in one at least.
    n_rows : int
    time_limit : float, default=None
        Seconds.

    Returns
    -------
    chosen : ndarray of int
        Positions of the chosen sets.
    bound : int
        No fewer than this many sets will do; the number of chosen ones if proved.
    """
    start = _greedily(members, n_rows)
    mip = Mip()
    take = [mip.binary("take") for _ in members]
    holders = [[] for _ in range(n_rows)]
    for c, rows in enumerate(members):
        for i in rows:
            holders[i].append(c)
    for held in holders:
        mip.require(mip.total((take[c], 1.0) for c in held) >= 1)
    mip.minimize(mip.total((t, 1.0) for t in take))
    # Without a point to begin with: with one, HiGHS 1.16 was seen to call 27 sets
    # optimal where no fewer than 28 will do.
    outcome = mip.solve(time_limit=time_limit)
    bound = int(np.ceil(outcome.bound - 1e-6)) if np.isfinite(outcome.bound) else 1
    chosen = start
    if outcome.values is not None:
        chosen = np.flatnonzero(outcome.values > 0.5)
        held = {int(i) for c in chosen for i in members[c]}
        if len(held) < n_rows or len(chosen) > len(start):
            chosen = start
    return chosen, min(bound, len(chosen))


def _greedily(members, n_rows):
    """Return a cover found by taking the set with most rows that are still open."""
    sets = [frozenset(int(i) for i in rows) for rows in members]
    left, chosen = set(range(n_rows)), []
    while left:
        best = max(range(len(sets)), key=lambda c: len(sets[c] & left))
        chosen.append(best)
        left -= sets[best]
    return np.array(chosen, dtype=np.intp)
