"""Clusters one by one, each the best for the rows that are dear to cover."""

import numpy as np

from skcf._mip._adapter import Mip
from skcf.group._cover import membership, prices
from skcf.group._dear_clusters import BETTER, MOST_ROWS, DearClusters

# The share of the time that is kept for the cover.
KEPT = 0.3


def generated(lots, pricings, pattern, meter):
    """Return (lots, worth): more clusters, until none is worth another one.

    The least number of clusters, fractions allowed, prices the rows. A cluster whose
    rows are worth more than one is added, as long as there is any. The prices over
    what a cluster is worth at most are a bound at any time.

    Parameters
    ----------
    lots : list of (ndarray of int, oracle)
        Sets of rows that one change can serve; every row is in one of them.
    pricings : list of DearClusters or Pricing
        What finds more of them.
    pattern : ndarray of shape (n_rows, n_features)
        Rows agree where they have the same number.
    meter : Meter

    Returns
    -------
    lots : list of (ndarray of int, oracle)
    worth : ndarray of shape (n_rows,)
        What rows are worth where no cluster is worth more than one: to hold some rows
        takes at least as many clusters as these are worth together.

    References
    ----------
    .. [1] Farley, A. A. (1990). A note on bounding a class of linear programming
       problems, including cutting stock problems. Operations Research, 38(5),
       922-923. doi:10.1287/opre.38.5.922
    """
    held = np.unique(np.concatenate([rows for rows, _ in lots]))
    known = {rows.tobytes() for rows, _ in lots}
    proved, begin = np.zeros(len(pattern)), meter.left
    while not meter.expired:
        if begin is not None and meter.left < KEPT * begin:
            break
        sets = [np.searchsorted(held, rows) for rows, _ in lots]
        worth = np.zeros(len(pattern))
        worth[held] = prices(membership(sets, len(held)))
        most, new = 1.0, []
        for pricing in pricings:
            found, value = pricing.best(worth, meter)
            most = max(most, value)
            new += [(rows, pricing.oracle) for rows in found]
        if worth.sum() / most > proved.sum():
            proved = worth / most
        new = [(rows, o) for rows, o in new if rows.tobytes() not in known]
        if not new:
            break
        known |= {rows.tobytes() for rows, _ in new}
        lots = lots + new
    return lots, proved


def pricing_of(rows, oracle, pattern):
    """Return what finds the clusters that are worth most."""
    if len(rows) <= MOST_ROWS and oracle.alike(rows, pattern):
        return DearClusters(rows, oracle, pattern)
    return Pricing(rows, oracle, pattern)


def with_singles(lots, outcomes, pattern, meter):
    """Return lots that hold all rows that can be served, and whether all were tried."""
    lots, held = list(lots), np.zeros(len(pattern), dtype=bool)
    for rows, _ in lots:
        held[rows] = True
    nothing = np.zeros(pattern.shape[1], dtype=bool)
    for some, oracle in outcomes:
        for i in some[~held[some]]:
            if meter.expired:
                return lots, False
            if oracle.lawful((i,), nothing):
                lots.append((np.array([i]), oracle))
                held[i] = True
    return lots, True


class Pricing:
    """The cluster whose rows are worth most, as a mixed-integer linear program.

    A feature is free, and set to one value, or all rows of the cluster agree on it: a
    row is in the cluster only where the feature is free or the row has what the others
    have.

    Parameters
    ----------
    rows : ndarray of int
        Those that can be served.
    oracle : LinearOracle
    pattern : ndarray of shape (n_rows, n_features)
    """

    def __init__(self, rows, oracle, pattern):
        self.rows, self.oracle, self.pattern = rows, oracle, pattern
        self.mip = None

    def best(self, worth, meter):
        """Return (clusters that are worth more than one, what none is worth more)."""
        if not np.isfinite(self.oracle.short[self.rows]).any():
            return [], 0.0
        if self.mip is None:
            self._build()
        mip, of_kind = self.mip, np.bincount(self._kind, worth[self.rows])
        mip.minimize(mip.total(zip(self._inside, -of_kind, strict=True)))
        said = mip.solve(time_limit=meter.left)
        if said.status == "infeasible":
            return [], 0.0
        bound = -said.bound if np.isfinite(said.bound) else np.inf
        if said.values is None:
            return [], bound
        rows = self._read(said.values)
        return [rows] if worth[rows].sum() > 1 + BETTER else [], bound

    def _build(self):
        """Write the program; rows that nothing tells apart are one."""
        oracle, rows = self.oracle, self.rows
        parts = [self.pattern[rows], oracle.must[rows], oracle.short[rows]]
        parts += [ok[rows] for ok in oracle.allowed]
        parts.append(oracle.own[rows].reshape(len(rows), -1))
        told = np.column_stack([part.astype(np.float64) for part in parts])
        _, first, kind = np.unique(told, axis=0, return_index=True, return_inverse=True)
        self._kind, some = kind.ravel(), rows[first]
        mip = self.mip = Mip()
        n_features = self.pattern.shape[1]
        self._free = [mip.binary("free") for _ in range(n_features)]
        self._value, self._common = [], []
        mip.require(mip.total((d, 1.0) for d in self._free) <= oracle.most)
        alike = self._points_alike(some)
        # Where rows become one point, the other variables make these whole.
        self._inside = [mip.variable("in", 0, 1, integer=not alike) for _ in some]
        for j, free in enumerate(self._free):
            self._add_feature(j, free, some)
        if alike:
            self._need_of_all(some)
        else:
            self._needs_of_rows(some)

    def _add_feature(self, j, free, some):
        """Add the values that a feature is set to, and those that rows agree on."""
        mip, allowed = self.mip, self.oracle.allowed[j][some]
        may = np.flatnonzero(allowed.any(axis=0))
        values = {int(a): mip.binary("set") for a in may}
        common = {int(p): mip.binary("own") for p in np.unique(self.pattern[some, j])}
        self._value.append(values)
        self._common.append(common)
        terms = [(v, 1.0) for v in values.values()]
        mip.require(mip.total([*terms, (free, -1.0)]) == 0)
        terms = [(c, 1.0) for c in common.values()]
        mip.require(mip.total([*terms, (free, 1.0)]) == 1)
        for i, inside, ok in zip(some, self._inside, allowed, strict=True):
            row = [(inside, 1.0), (free, -1.0)]
            if not self.oracle.must[i, j]:
                row.append((common[int(self.pattern[i, j])], -1.0))
            mip.require(mip.total(row) <= 0)
            wrong = [(v, 1.0) for a, v in values.items() if not ok[a]]
            if wrong:
                mip.require(mip.total([*wrong, (inside, 1.0)]) <= 1)

    def _points_alike(self, some):
        """Tell whether rows that agree on a feature add the same to the scores."""
        for j in range(self.pattern.shape[1]):
            own = self.oracle.own[some, j]
            _, first, back = np.unique(
                self.pattern[some, j], return_index=True, return_inverse=True
            )
            if not (own == own[first][back.ravel()]).all():
                return False
        return True

    def _need_of_all(self, some):
        """Let the point that the cluster becomes be in the target."""
        oracle, mip = self.oracle, self.mip
        need = (oracle.short[some] + oracle.own[some].sum(axis=1)).max(axis=0)
        for k, least in enumerate(need):
            terms = []
            for j, values in enumerate(self._value):
                terms += [(v, oracle.scores[j][a, k]) for a, v in values.items()]
                for p, common in self._common[j].items():
                    i = some[np.flatnonzero(self.pattern[some, j] == p)[0]]
                    terms.append((common, oracle.own[i, j, k]))
            mip.require(mip.total(terms) >= float(least))

    def _needs_of_rows(self, some):
        """Let each row of the cluster be in the target."""
        oracle, mip = self.oracle, self.mip
        for i, inside in zip(some, self._inside, strict=True):
            for k, short in enumerate(oracle.short[i]):
                terms, least = [], 0.0
                for j, values in enumerate(self._value):
                    own = oracle.own[i, j, k]
                    gain = {a: oracle.scores[j][a, k] - own for a in values}
                    terms += [(v, gain[a]) for a, v in values.items()]
                    least += min([0.0, *gain.values()])
                slack = max(float(short) - least, 0.0)
                row = mip.total([*terms, (inside, -slack)])
                mip.require(row >= float(short) - slack)

    def _read(self, values):
        """Return all rows that the change of a solution serves."""
        mip, oracle, rows = self.mip, self.oracle, self.rows
        fit = np.ones(len(rows), dtype=bool)
        gain = np.zeros_like(oracle.short[rows])
        for j, free in enumerate(self._free):
            if mip.value(free, values) > 0.5:
                at = [mip.value(v, values) for v in self._value[j].values()]
                a = list(self._value[j])[int(np.argmax(at))]
                fit &= oracle.allowed[j][rows, a]
                gain += oracle.scores[j][a] - oracle.own[rows, j]
            else:
                at = [mip.value(c, values) for c in self._common[j].values()]
                p = list(self._common[j])[int(np.argmax(at))]
                fit &= (self.pattern[rows, j] == p) & ~oracle.must[rows, j]
        fit &= (gain >= oracle.short[rows]).all(axis=1)
        return rows[fit]
