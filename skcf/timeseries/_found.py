"""What a search over prototypes found, row by row."""

import numpy as np

# Rounded to single precision, a series costs a few parts in 1e8 more.
ROUNDING = 1e-6


class Found:
    """What was found for the rows of a block."""

    def __init__(self, n):
        self.rows, self.codes, self.costs = [], [], []
        self.prototypes, self.weights, self.optimal = [], [], []
        self.bound = np.full(n, np.nan)
        self.cut = np.zeros(n, dtype=bool)

    def put(self, row, codes, cost, prototypes, weights, optimal=False):
        self.rows.append(row)
        self.codes.append(codes)
        self.costs.append(cost)
        self.prototypes.append(prototypes)
        self.weights.append(weights)
        self.optimal.append(optimal)

    def add(self, row, mixtures, pool, bound=np.nan, tol=0.0, slack=0.0):
        """Take note of the mixtures of a row, and of what is proved of its cost."""
        if mixtures and np.isfinite(bound):
            bound = min(bound, mixtures[0].cost)
            self.bound[row] = bound
        for rank, m in enumerate(mixtures):
            least = m.cost * (1 - tol - ROUNDING) - slack
            proved = rank == 0 and bound >= least
            at = m.support
            self.put(row, m.codes, m.cost, pool[at], m.weights[at], bool(proved))

    def answers(self, explainer, query, rows, k):
        """Return the Answers, cheapest first, equal ones once."""
        row = np.array(self.rows, dtype=np.intp)
        codes = query.state.codes
        codes = np.array(self.codes).reshape(len(row), codes.shape[1])
        order = np.lexsort((np.array(self.costs), row))
        answers = explainer._answers(
            query,
            rows,
            row[order],
            codes[order],
            k,
            prototypes=listed([self.prototypes[i] for i in order]),
            weights=listed([self.weights[i] for i in order]),
            optimal=np.array(self.optimal, dtype=bool)[order],
        )
        answers.optimal = answers.extra.pop("optimal")
        answers.cut, answers.lower_bound = self.cut, self.bound
        return answers


def listed(values):
    """Return an array of objects, whatever their shapes."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        out[i] = value
    return out
