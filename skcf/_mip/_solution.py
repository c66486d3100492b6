"""What an exact method says of one query."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

STATUSES = ("optimal", "infeasible", "feasible", "none")


@dataclass(frozen=True, eq=False)
class Solution:
    """The counterfactuals of one query with what is proved of them.

    Attributes
    ----------
    codes : ndarray of shape (m, n_features)
        Sorted by cost. Those behind the first are the cheapest that do not change
        all features of one before them.
    cost : ndarray of shape (m,)
    optimal : ndarray of bool of shape (m,)
        Whether each is proved to be the cheapest of its kind.
    lower_bound : float
        No counterfactual costs less; inf where there is none, nan where nothing is
        proved.
    status : {"optimal", "infeasible", "feasible", "none"}
        "none" where the time was up before anything was found or refuted.
    """

    codes: np.ndarray
    cost: np.ndarray
    optimal: np.ndarray
    lower_bound: float
    status: str

    def __len__(self):
        return len(self.cost)

    @classmethod
    def of(cls, codes, cost, proved, bound):
        """Return the solution with one counterfactual."""
        status = "optimal" if proved else "feasible"
        one = np.array([cost], dtype=np.float64)
        return cls(codes[None, :], one, np.array([proved]), float(bound), status)

    @classmethod
    def empty(cls, n_features, *, infeasible=False, bound=np.nan):
        """Return the solution without a counterfactual."""
        status = "infeasible" if infeasible else "none"
        bound = np.inf if infeasible else float(bound)
        none = np.empty(0)
        return cls(np.empty((0, n_features)), none, none.astype(bool), bound, status)


class Solver(Protocol):
    """What solves single queries exactly for one family of models.

    It is built once for a model, space, rule set and bound cost, as
    ``Solver(model, space, rules, cost)`` with the BlackBox `model`, and raises
    UnsupportedConstraintError there for a rule that it cannot honour.
    """

    def solve(
        self, x, goal, *, lifted=-1, deadline=None, k=1, callback=None, accept=None
    ) -> Solution:
        """Return the solution of one query.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
            Codes of the query.
        goal : Goal
            Of this one row.
        lifted : int, default=-1
            The position of a rule that does not count.
        deadline : float, default=None
            When to stop, by ``time.monotonic``.
        k : int, default=1
            The most counterfactuals to return.
        callback : callable, default=None
            Called with (incumbent cost, lower bound) whenever one of them improves.
        accept : callable, default=None
            Takes rows of codes and returns which of them the model itself accepts;
            asked where floats may differ.
        """
        ...
