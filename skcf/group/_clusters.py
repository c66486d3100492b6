"""Which rows may share one counterfactual: closed clusters, and their lawful parts."""

from dataclasses import dataclass

import numpy as np

# How many sets are compared with all others in one go.
BLOCK = 1000


@dataclass(frozen=True)
class Cluster:
    """Rows that agree on all features but a few.

    Attributes
    ----------
    members : ndarray of shape (n_members,)
        Positions of the rows, in order.
    differ : ndarray of bool of shape (n_features,)
        The features on which they do not all agree: a counterfactual that they share
        changes each of these for some of them.
    """

    members: np.ndarray
    differ: np.ndarray


class TooManyClusters(Exception):
    """The enumeration was given up; `clusters` are those found before."""

    def __init__(self, clusters):
        super().__init__("too many clusters")
        self.clusters = clusters


def closed_clusters(pattern, most, possible, expired, cap):
    """Return all closed clusters that one counterfactual might serve.

    A cluster is closed if it has every row that agrees with its members wherever they
    agree. A set of rows can share a counterfactual only if its closure can, as far as
    no rule tells rows apart, because more rows to agree upon only force more features
    to change. So the search goes from single rows to larger clusters, one more row and
    its closure at a time, and stops where a cluster is impossible.

    Parameters
    ----------
    pattern : ndarray of shape (n_rows, n_features)
        Rows agree on a feature where they have the same number.
    most : int
        The largest number of features that may change.
    possible : callable
        Takes a Cluster; False says that no counterfactual serves all its members, nor
        those of any cluster with more of both members and differences.
    expired : callable
        Tells whether time is up.
    cap : int
        The most clusters.

    Returns
    -------
    clusters : list of Cluster

    Raises
    ------
    TooManyClusters
    """
    n_features = pattern.shape[1]
    found, seen, stack = [], set(), []

    def visit(seed, differ):
        members = np.flatnonzero(
            ((pattern == pattern[seed]) | differ).all(axis=1)
        ).astype(np.intp)
        key = (int(members[0]), differ.tobytes())
        if key in seen:
            return
        seen.add(key)
        cluster = Cluster(members, differ)
        if possible(cluster):
            found.append(cluster)
            stack.append(cluster)

    for seed in range(len(pattern)):
        visit(seed, np.zeros(n_features, dtype=bool))
    while stack:
        if len(found) > cap or expired():
            raise TooManyClusters(found)
        cluster = stack.pop()
        seed, differ = cluster.members[0], cluster.differ
        more = (pattern != pattern[seed]) & ~differ
        size = more.sum(axis=1)
        near = (size > 0) & (size + differ.sum() <= most)
        for step in np.unique(more[near], axis=0):
            visit(seed, differ | step)
    return found


def lawful_parts(members, lawful):
    """Return the largest subsets of some rows for which `lawful` is true.

    `lawful` takes a tuple of rows; what it says of a set it says of its subsets. A
    minimal unlawful set is found by leaving rows out one by one, and each lawful
    subset lacks at least one row of it.
    """
    found, seen, level = [], set(), [tuple(members)]
    while level:
        below = []
        for some in level:
            if some in seen or any(set(some) <= f for f in found):
                continue
            seen.add(some)
            if lawful(some):
                found.append(frozenset(some))
                continue
            for out in _minimal_conflict(some, lawful):
                rest = tuple(i for i in some if i != out)
                if rest:
                    below.append(rest)
        level = below
    return [np.array(sorted(f), dtype=np.intp) for f in found]


def _minimal_conflict(some, lawful):
    """Return an unlawful subset all of whose subsets are lawful."""
    for i in some:
        rest = tuple(k for k in some if k != i)
        if rest and not lawful(rest):
            some = rest
    return some


def undominated(members):
    """Return the positions of member sets that no other one contains.

    `members` has shape (n_sets, n_rows); of equal sets the first is kept.
    """
    size = members.sum(axis=1)
    kept = size > 0
    often = members.sum(axis=0)
    # A set that contains another one contains its rarest row.
    rarest = np.where(members, often, len(members) + 1).argmin(axis=1)
    for row in np.unique(rarest[kept]):
        mine = np.flatnonzero(kept & (rarest == row))
        others = np.flatnonzero(members[:, row])
        table = members[others].astype(np.float32)
        for k in range(0, len(mine), BLOCK):
            some = mine[k : k + BLOCK]
            joint = members[some].astype(np.float32) @ table.T
            within = joint == size[some, None]
            larger = size[others] > size[some, None]
            larger |= (size[others] == size[some, None]) & (others < some[:, None])
            kept[some] = ~(within & larger).any(axis=1)
    return np.flatnonzero(kept)
