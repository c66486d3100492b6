"""A call on its way through an explainer: the queries, their answers, the verdicts."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.utils import Bunch

from skcf._model import Meter


@dataclass
class Query:
    """The rows of one call on their way through an explainer.

    `status` holds the final word on rows that need no search, "" elsewhere.
    """

    X: object
    status: np.ndarray
    goal: object = None
    target: np.ndarray = None
    prediction: np.ndarray = None
    score: np.ndarray = None
    state: Bunch = field(default_factory=Bunch)

    def __len__(self):
        return len(self.status)

    @classmethod
    def of(cls, X):
        """Return the query of a table, nothing settled."""
        state = Bunch(deadline=None, share=None)
        return cls(X, np.full(len(X), "", dtype="<U10"), state=state)

    def meter(self, part=1.0):
        """Return a meter with the time limit of the call, or the first part of it."""
        deadline = self.state.deadline
        if deadline is not None:
            deadline = self.state.begin + part * (deadline - self.state.begin)
        return Meter(deadline, self.state.share)


@dataclass
class Answers:
    """What a search found: rows of codes, the best of each query first.

    Parameters
    ----------
    row : ndarray of shape (m,)
        The query of each answer; answers of a query stand in order of preference.
    codes : ndarray of shape (m, ...)
    cut : ndarray of shape (n_rows,)
        Which rows the budget cut off.
    extra : dict of str to ndarray of shape (m,)
        What else is told of each answer, by the name it has in ``details``.
    whole : dict of str to object
        What else is told of the call as a whole, by the name it has in ``details``.
    optimal : ndarray of bool of shape (m,), default=None
        Which answers are proved to be the cheapest; None for a heuristic.
    lower_bound : ndarray of shape (n_rows,), default=None
    n_calls, n_rows : int
        Model calls and the rows in them.
    by_row : dict of str to ndarray of shape (n_rows,)
        What else is told of each query, by the name it has in ``details``.
    """

    row: np.ndarray
    codes: np.ndarray
    cut: np.ndarray
    extra: dict = field(default_factory=dict)
    whole: dict = field(default_factory=dict)
    optimal: np.ndarray = None
    lower_bound: np.ndarray = None
    n_calls: int = 0
    n_rows: int = 0
    by_row: dict = field(default_factory=dict)

    def take(self, at):
        """Return some of the answers."""
        return Answers(
            self.row[at],
            self.codes[at],
            self.cut,
            {name: values[at] for name, values in self.extra.items()},
            self.whole,
            None if self.optimal is None else self.optimal[at],
            self.lower_bound,
            self.n_calls,
            self.n_rows,
            self.by_row,
        )

    @classmethod
    def concat(cls, n, blocks, parts):
        """Join the answers of blocks of `n` rows; `blocks` holds their positions."""
        row = np.concatenate([b[p.row] for b, p in zip(blocks, parts, strict=True)])
        order = np.argsort(row, kind="stable")
        cut, bound = np.zeros(n, dtype=bool), np.full(n, np.nan)
        for block, part in zip(blocks, parts, strict=True):
            cut[block] = part.cut
            if part.lower_bound is not None:
                bound[block] = part.lower_bound
        # Each name is told of all queries by the first part, which is of all of them.
        by_row = {name: told.copy() for name, told in parts[0].by_row.items()}
        for block, part in zip(blocks, parts, strict=True):
            for name, told in part.by_row.items():
                by_row[name][block] = told[: len(block)]
        optimal = [
            np.zeros(len(p.row), dtype=bool) if p.optimal is None else p.optimal
            for p in parts
        ]
        return cls(
            row[order],
            np.concatenate([p.codes for p in parts])[order],
            cut,
            {
                name: np.concatenate([p.extra[name] for p in parts])[order]
                for name in parts[0].extra
            },
            {name: told for p in parts for name, told in p.whole.items()},
            np.concatenate(optimal)[order],
            bound,
            sum(p.n_calls for p in parts),
            sum(p.n_rows for p in parts),
            by_row,
        )


class Verdicts:
    """Which answers of each query were judged so far, and what was said of them."""

    def __init__(self, row, prediction):
        self.row = row
        self.judged = np.zeros(len(row), dtype=bool)
        self.accepted = np.zeros(len(row), dtype=bool)
        self.told = {
            "cost": np.zeros(len(row)),
            "n_changed": np.zeros(len(row), dtype=np.intp),
            "prediction": np.empty(len(row), dtype=prediction.dtype),
            "score": np.zeros(len(row)),
        }

    def open(self, k):
        """Return the answers to judge so that each query may get `k`, best first."""
        n = int(self.row.max(initial=-1)) + 1
        wanted = k - np.bincount(self.row[self.accepted], minlength=n)
        left = np.flatnonzero(~self.judged)
        return left[rank_in_query(self.row[left]) < wanted[self.row[left]]]

    def add(self, at, accepted, **told):
        """Take note of a verdict."""
        self.judged[at], self.accepted[at] = True, accepted
        for name, values in told.items():
            kept = self.told[name]
            # Text of another length needs another dtype.
            dtype = np.promote_types(kept.dtype, values.dtype)
            self.told[name] = kept.astype(dtype, copy=False)
            self.told[name][at] = values

    def kept(self):
        """Return the accepted answers, and what was told of them by name."""
        at = np.flatnonzero(self.accepted)
        return at, {name: values[at] for name, values in self.told.items()}


def rank_in_query(row):
    """Return the rank of each answer among those of its query; rows are sorted."""
    return np.arange(len(row)) - np.searchsorted(row, row)
