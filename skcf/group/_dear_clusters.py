"""The clusters whose rows are worth most, by branch and bound."""

import numpy as np

from skcf.group._dear_kernels import dearest

# A cluster has to be worth so much more than one to be added.
BETTER = 1e-6
# How many branches a row is given at first.
FEW_NODES = 20_000
# More rows than these are not compared in pairs.
MOST_ROWS = 2000


def warm_up():
    """Have the search compiled, or loaded, so that a call keeps its time limit."""
    one, word = np.ones(1), np.ones((1, 1), dtype=np.uint64)
    dearest(word, one, 1.0, one, np.zeros(1, dtype=np.int64), 0.0, 1, 0.0, 1)


class DearClusters:
    """The dearest clusters of rows that become one point.

    Each row in turn is the first of its cluster. The others that it may have differ
    from it on at most `most` features, and together with it on no more. Those that
    exclude each other bound what a cluster can be worth, as in the search of cliques.

    Parameters
    ----------
    rows : ndarray of int
        Those that can be served.
    oracle : oracle
        If it is asked, a LinearOracle under which what flips one row of a cluster flips
        all.
    pattern : ndarray of shape (n_rows, n_features)
        Rows agree where they have the same number.
    asked : bool, default=True
        If False, every cluster that differs on few features is taken.
    """

    def __init__(self, rows, oracle, pattern, asked=True):
        self.rows, self.oracle, self.asked = rows, oracle, asked
        _, first, kind = np.unique(
            pattern[rows], axis=0, return_index=True, return_inverse=True
        )
        self.first, self._kind = rows[first], kind.ravel()
        points = pattern[self.first]
        self._n_features = points.shape[1]
        other = points[:, None] != points
        n_words = -(-points.shape[1] // 64)
        wide = np.zeros((*other.shape[:2], 64 * n_words), dtype=bool)
        wide[..., : points.shape[1]] = other
        bits = np.packbits(wide, axis=2, bitorder="little")
        self._apart = np.ascontiguousarray(bits).view("<u8").astype(np.uint64)
        self._near = other.sum(axis=2) <= oracle.most
        # Those with few others come first: later ones have fewer rows to look at.
        self._order = np.argsort(self._near.sum(axis=1), kind="stable")
        self._able = np.ones(len(points), dtype=bool)
        if asked:
            self._able = oracle.alone(self.first, np.zeros(points.shape[1], dtype=bool))
        self._max_nodes = FEW_NODES

    def best(self, worth, meter):
        """Return (clusters that are worth more than one, what none is worth more)."""
        worth = np.bincount(self._kind, worth[self.rows], len(self.first))
        while True:
            found, bound = self._looked(worth, meter)
            if found or meter.expired or bound <= 1.0 + BETTER:
                return found, bound
            self._max_nodes *= 10

    def _looked(self, worth, meter):
        """Search with each row as the first one."""
        found, bound = [], 1.0
        dear = self._able & (worth > BETTER / (10 * len(worth)))
        # Together the others are worth next to nothing.
        rest = worth[self._able & ~dear].sum()
        for s in self._order[dear[self._order]]:
            if meter.expired:
                bound = max(bound, worth[dear].sum())
                break
            dear[s] = False
            value, most, changed = self._of(s, worth, dear)
            bound = max(bound, most)
            if value > 1.0 + BETTER:
                inside = ~(self._apart[s] & ~changed).any(axis=1)
                found.append(self.rows[inside[self._kind]])
        return found, bound + rest

    def _of(self, s, worth, dear):
        """Return what `dearest` says of a point as the first one."""
        others = np.flatnonzero(dear & self._near[s])
        others = others[np.argsort(-worth[others], kind="stable")]
        gain, short = np.zeros(self._n_features), 0.0
        if self.asked:
            gain = np.ascontiguousarray(self.oracle.gain[self.first[s], :, 0])
            short = self.oracle.short[self.first[s], 0]
        return dearest(
            self._apart[s, others],
            worth[others],
            worth[s],
            gain,
            np.argsort(-gain, kind="stable"),
            short,
            self.oracle.most,
            1.0 + BETTER / 2,
            self._max_nodes,
        )
