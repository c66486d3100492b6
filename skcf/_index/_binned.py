"""Training rows in bins, and what their neighbours have that a query has not."""

import numpy as np

from skcf._index._embed import fixed_columns, numbers, one_hot
from skcf._index._points import NearestPoints

# Rows by training rows that are looked at in one go.
MAX_PAIRS = 20_000_000


class BinnedRows:
    """The distinct binned training rows, to be asked for neighbours in the target.

    Numbers are put in quantile bins and compared by the rank of their bins, ordered
    categories by rank, others by equality: each column contributes up to 1 to a squared
    distance. Only columns that may change take part.

    Parameters
    ----------
    training : TrainingRows
    rules : RuleSet
    n_bins : int
        Bins of a number.
    method : {"auto", "exact", "hnsw"}
        How neighbours are found.

    Attributes
    ----------
    ids : ndarray of shape (n_training, n_groups)
        The number of the value that each row has in each group, -1 for none.
    bin_of : ndarray of shape (n_values,)
        The bin of each observed value; other values than numbers are their own.
    """

    def __init__(self, training, rules, n_bins, method):
        space = rules.space
        self.training, self.space, self.n_bins = training, space, n_bins
        fixed = fixed_columns(rules)
        self.actionable = np.array([not fixed & set(m) for m in space.groups])
        used = self.actionable if self.actionable.any() else ~self.actionable
        self._used = [j for g in np.flatnonzero(used) for j in space.groups[g]]
        self._edges = {
            j: _edges(training.codes[:, j], n_bins)
            for j in range(space.n_features)
            if space.numeric[j]
        }
        values = space.values
        self.ids = np.column_stack(
            [
                values.find(g, training.codes[:, list(m)])
                for g, m in enumerate(space.groups)
            ]
        )
        self.bin_of = np.arange(values.n_observed)
        for g, j in enumerate(values.single):
            if j >= 0 and space.numeric[j]:
                at = slice(values.offsets[g], values.offsets[g + 1])
                self.bin_of[at] = self.bins(g, values.code[values.ptr[:-1]][at])
        points = self._points(training.codes)
        # A regressor or a threshold has no classes to group rows by.
        self._by_class = not (training.model.regression or training.model.needs_proba)
        label = np.zeros(len(training), dtype=np.intp)
        self.member = np.arange(len(training))
        if self._by_class:
            label = training.prediction.astype(np.intp)
            key = np.column_stack([label, points])
            self.member = np.sort(np.unique(key, axis=0, return_index=True)[1])
        self.points = NearestPoints(points[self.member], label[self.member], method)

    def bins(self, g, codes):
        """Return the bins of numbers of a group, below its first value's number."""
        values = self.space.values
        rank = np.searchsorted(self._edges[values.single[g]], codes)
        missing = values.offsets[g + 1] - 1
        return np.where(np.isnan(codes), missing, values.offsets[g] + rank)

    def neighbours(self, x, goal, k):
        """Return (query, training row) of the `k` nearest rows in the targets.

        Rows that are in the same bins as the query everywhere do not count.
        """
        found, step = [], max(1, MAX_PAIRS // len(self.training))
        for begin in range(0, len(x), step):
            at = np.arange(begin, min(begin + step, len(x)))
            found.append(self._neighbours(x[at], goal.take(at), k))
            found[-1][0] += begin
        return np.concatenate([np.empty((2, 0), dtype=np.intp), *found], axis=1)

    def _neighbours(self, x, goal, k):
        inside, kind = self.training.reached(goal)
        labels = None
        if self._by_class:
            label = np.arange(len(self.points.members))
            same = goal.label[:, None] == label
            labels = np.where(goal.opposite[:, None], ~same, same)

        points = self._points(x)

        def keep(who, at):
            other = (points[who] != self.points.points[at]).any(axis=1)
            return other & inside[kind[who], self.member[at]]

        who, at, _ = self.points.nearest(points, k, labels, keep)
        return np.stack([who, self.member[at]])

    def _points(self, codes):
        """Return rows of codes as points."""
        parts = []
        for j in self._used:
            column, code = self.space.columns[j], codes[:, j]
            if self.space.numeric[j]:
                edges = self._edges[j]
                rank = np.where(np.isnan(code), np.nan, np.searchsorted(edges, code))
                parts.append(numbers(rank, 0.0, max(len(edges), 1)))
            elif self.space.categorical[j]:
                parts.append(
                    one_hot(code, 1 + int(np.nanmax(column.domain, initial=0)))
                )
            else:
                parts.append(numbers(code, 0.0, max(column.high, 1.0)))
        return np.concatenate(parts, axis=1)


def _edges(codes, n_bins):
    """Return the upper ends of all quantile bins but the last."""
    known = codes[~np.isnan(codes)]
    if not len(known):
        return np.empty(0)
    ranks = np.arange(1, n_bins) / n_bins
    return np.unique(np.quantile(known, ranks, method="inverted_cdf"))
