"""The search of the fewest shared changes: clusters, their lawful parts, a cover."""

from dataclasses import dataclass

import numpy as np

from skcf.group._clusters import (
    TooManyClusters,
    closed_clusters,
    lawful_parts,
    undominated,
)
from skcf.group._cover import fewest


@dataclass(frozen=True, eq=False)
class Shared:
    """A change that some rows share.

    Attributes
    ----------
    rows : ndarray of int
        Positions of its rows.
    change : ndarray of shape (n_features,)
        The number of the value that it sets each feature to, -1 for none.
    """

    rows: np.ndarray
    change: np.ndarray


def serviceable(pattern, outcomes, most, cap, expired):
    """Return the largest sets of rows that one change can serve.

    Parameters
    ----------
    pattern : ndarray of shape (n_rows, n_features)
        Rows agree where they have the same number.
    outcomes : list of (ndarray of int, oracle)
        For each wanted outcome the rows for which it counts, and what knows of shared
        changes that lead there.
    most, cap : int
        The most features of a change, and the most clusters.
    expired : callable

    Returns
    -------
    lots : list of (ndarray of int, oracle)
        No set of rows is part of another one.
    complete : bool
        Whether these are all.
    """
    lots, complete = [], True
    for rows, oracle in outcomes:
        clusters, ended = _clusters(pattern, rows, oracle, most, cap, expired)
        complete &= ended
        for cluster in clusters:
            if expired():
                complete = False
                if cluster.differ.any():
                    continue
                # What serves equal rows is known by now.
            members = rows[cluster.members]
            members = members[oracle.alone(members, cluster.differ)]

            def lawful(some, oracle=oracle, differ=cluster.differ):
                return oracle.lawful(some, differ)

            lots += [(part, oracle) for part in lawful_parts(members, lawful)]
    return [lots[c] for c in undominated([rows for rows, _ in lots])], complete


def _clusters(pattern, rows, oracle, most, cap, expired):
    """Return the closed clusters of some rows, and whether these are all."""

    def possible(cluster):
        return oracle.alone(rows[cluster.members], cluster.differ).any()

    try:
        return closed_clusters(pattern[rows], most, possible, expired, cap), True
    except TooManyClusters as given_up:
        return given_up.clusters, False


def cover(lots, pattern, costs, time_limit):
    """Return the fewest changes for all rows that any lot holds, and a bound.

    `costs` takes rows and returns for each feature the cost of each value, summed over
    the rows.
    """
    held = np.unique(np.concatenate([rows for rows, _ in lots]))
    members = [np.searchsorted(held, rows) for rows, _ in lots]
    chosen, bound = fewest(members, len(held), time_limit)
    lots = [lots[c] for c in chosen]
    # A row that several changes serve takes the one that is cheapest for it.
    price = np.full((len(lots), len(pattern)), np.inf)
    changes = [_cheapest(rows, oracle, pattern, costs) for rows, oracle in lots]
    for c, ((rows, _), change) in enumerate(zip(lots, changes, strict=True)):
        for i in rows:
            own = costs([i])
            price[c, i] = sum(own[g][v] for g, v in enumerate(change) if v >= 0)
    taken = price.argmin(axis=0)
    shared = []
    for c, (rows, oracle) in enumerate(lots):
        mine = rows[taken[rows] == c]
        if len(mine) < len(rows) and len(mine):
            changes[c] = _cheapest(mine, oracle, pattern, costs)
        if len(mine):
            shared.append(Shared(mine, changes[c]))
    return shared, bound


def _cheapest(rows, oracle, pattern, costs):
    differ = (pattern[rows] != pattern[rows[0]]).any(axis=0)
    return oracle.cheapest(rows, differ, costs(rows))
