"""Targets of a tree ensemble as linear rows over its leaves."""

from dataclasses import dataclass

import numpy as np

from skcf._model import TOLERANCE

# How far the output of a model in single and in double precision may be off.
SINGLE, DOUBLE = 1e-7, 1e-12


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that all have to hold: ``base + sum of leaf weights >= need``.

    Attributes
    ----------
    weight : float64 (n_leaves, n_rows)
    base, need, sure : float64 (n_rows,)
        The target is out of reach below `need` in some row, and reached for certain
        from `sure` on in all; in between the model has to be asked.
    """

    weight: np.ndarray
    base: np.ndarray
    need: np.ndarray
    sure: np.ndarray

    def with_row(self, weight, least):
        """Return the rows and one more, that leaves weigh at least so much."""
        return Rows(
            np.column_stack([self.weight, weight]),
            np.append(self.base, 0.0),
            np.append(self.need, least),
            np.append(self.sure, least),
        )


class ScoreRows:
    """The outputs of an ensemble, and what they have to be for a target.

    Parameters
    ----------
    model : BlackBox
        With a view of trees.
    slots, values : ndarray of shape (n_leaves,), (n_leaves, n_values)
        What each leaf adds to which scores.
    tree : ndarray of shape (n_leaves,)
    """

    def __init__(self, model, slots, values, tree):
        self.model, self.trees = model, model.view.kernel
        self.tree = tree
        n = len(self.trees.base)
        self.scores = np.zeros((len(slots), n))
        at = slots[:, None] + np.arange(values.shape[1])
        np.put_along_axis(self.scores, at, values, axis=1)
        # XGBoost alone adds up in single precision, and alone reads sparse rows so.
        single = self.trees.sparse_missing
        self.output_noise = SINGLE if single else DOUBLE
        largest = np.zeros(tree.max(initial=-1) + 1)
        np.maximum.at(largest, tree, np.abs(values).max(axis=1, initial=0.0))
        self.noise = _summation_error(largest, np.abs(self.trees.base).max(), single)

    def alternatives(self, goal):
        """Return lists of Rows of which one has to hold, for a goal of one row."""
        if self.model.regression:
            return self._regression(float(goal.low[0]), float(goal.high[0]))
        label, nu = int(goal.label[0]), goal.nu
        n = len(self.model.classes_)
        if n == 1:
            return []
        if not goal.opposite[0]:
            others = [c for c in range(n) if c != label]
            rows = [self._lead(label, c) for c in others]
            return [self._joined(rows + self._mass(label, others, nu))]
        return [
            self._joined([self._lead(c, label), *self._loss(label, c, nu)])
            for c in range(n)
            if c != label
        ]

    # -- classes --------------------------------------------------------------------

    def _lead(self, c, d):
        """Return the row that class `c` is ahead of class `d`."""
        trees, cut = self.trees, self.model.cut
        clear = TOLERANCE * self.model.scale
        if trees.method == "decision_function":
            if len(trees.base) > 1:
                return self._row(self._unit(c) - self._unit(d), clear, clear)
            sign = 1.0 if c == 1 else -1.0
            least = sign * cut + clear
            return self._row(sign * self._unit(0), least, least)
        if len(trees.base) == 1 or cut is not None:
            p = 0.5 if cut is None else cut if c == 1 else 1.0 - cut
            clear = TOLERANCE / 2 if cut is None else TOLERANCE
            return self._above(*self._log_odds(c), p + clear)
        toward = self._unit(c) - self._unit(d)
        if trees.link == "identity":
            return self._row(toward, TOLERANCE, TOLERANCE)
        if trees.link == "softmax":
            n = len(trees.base)
            return self._row(toward, TOLERANCE / 2, 4 * n * TOLERANCE)
        return self._row(toward, 2 * TOLERANCE, 1e-4)

    def _log_odds(self, c):
        """Return (coefficients, inverse link) of the probability of one of two."""
        if len(self.trees.base) == 1:
            return np.array([1.0 if c == 1 else -1.0]), _logit
        if self.trees.link == "identity":
            return self._unit(c), _same
        return self._unit(c) - self._unit(1 - c), _logit

    def _mass(self, label, others, nu):
        """Return the rows that the probability of a class is at least `nu`."""
        if nu is None:
            return []
        trees = self.trees
        if len(self.model.classes_) == 2:
            return [self._above(*self._log_odds(label), nu)]
        if trees.link == "identity":
            return [self._above(self._unit(label), _same, nu)]
        if trees.link == "sigmoid":
            return [self._above(self._unit(label), _logit, nu)]
        rest = np.log(len(others))
        toward = [self._unit(label) - self._unit(c) for c in others]
        return [self._above(row, _logit, nu, more=rest) for row in toward]

    def _loss(self, label, c, nu):
        """Return the rows that all classes but one have the probability `nu`."""
        if nu is None:
            return []
        trees = self.trees
        if len(self.model.classes_) == 2:
            return [self._above(*self._log_odds(1 - label), nu)]
        if trees.link == "identity":
            return [self._above(-self._unit(label), _same, nu - 1.0)]
        if trees.link == "sigmoid":
            return [self._above(-self._unit(label), _logit, nu)]
        rest = np.log(len(trees.base) - 1)
        toward = self._unit(c) - self._unit(label)
        return [self._above(toward, _logit, nu, less=rest)]

    # -- numbers --------------------------------------------------------------------

    def _regression(self, low, high):
        if self.trees.link == "median":
            return [self._joined(self._median(low, high))]
        inverse = _INVERSE[self.trees.link]
        scale = self.model.scale
        slack = self.output_noise * scale
        clear = 2 * TOLERANCE * scale + slack
        one, rows = np.ones(1), []
        if np.isfinite(low):
            need, sure = inverse(low - slack), inverse(low + clear)
            rows.append(self._row(one, need, sure))
        if np.isfinite(high):
            need, sure = -inverse(high + slack), -inverse(high - clear)
            rows.append(self._row(-one, need, sure))
        return [self._joined(rows)]

    def _median(self, low, high):
        """Return the rows that the weighted median is in an interval.

        It is below `low` if the trees that say so have half of the weight.
        """
        trees, noise = self.trees, DOUBLE * self.model.scale
        weight = np.zeros(max(self.tree.max(initial=-1) + 1, len(trees.weight)))
        weight[: len(trees.weight)] = trees.weight
        weight = weight[self.tree]
        said = self.scores.sum(axis=1)
        half = 0.5 * trees.weight.sum()
        slack = DOUBLE * trees.weight.sum()
        ends = np.array([half - slack]), np.array([half + slack])
        rows = []
        if np.isfinite(low):
            held = weight * (said >= low - noise)
            rows.append(Rows(held[:, None], np.zeros(1), *ends))
        if np.isfinite(high):
            held = weight * (said <= high + noise)
            rows.append(Rows(held[:, None], np.zeros(1), *ends))
        return rows

    # -- rows -----------------------------------------------------------------------

    def _unit(self, c):
        return np.eye(len(self.trees.base))[c]

    def _above(self, toward, inverse, p, *, more=0.0, less=0.0):
        """Return the row that an output is at least `p`."""
        low, high = p - 2 * self.output_noise, p + 2 * self.output_noise
        return self._row(toward, inverse(low) - less, inverse(high) + more)

    def _row(self, toward, need, sure):
        noise = self.noise * np.abs(toward).sum()
        return Rows(
            (self.scores @ toward)[:, None],
            np.array([self.trees.base @ toward]),
            np.array([need - noise]),
            np.array([sure + noise]),
        )

    def _joined(self, rows):
        """Return several rows as one."""
        if not rows:
            none = np.zeros(0)
            return Rows(np.zeros((len(self.tree), 0)), none, none, none)
        names = ("base", "need", "sure")
        return Rows(
            np.hstack([row.weight for row in rows]),
            *(np.concatenate([getattr(row, name) for row in rows]) for name in names),
        )


def _summation_error(largest, base, single):
    """Return how far the sum of one leaf a tree may be off.

    The sum up to a tree is not larger than what came before, nor than the end, which
    is near zero where it matters, and what follows.
    """
    if single:
        ahead = base + np.cumsum(largest)
        behind = base + np.cumsum(largest[::-1])[::-1]
        return float(2.0**-24 * np.minimum(ahead, behind).sum()) + 1e-6
    return float(2.0**-52 * len(largest) * (base + largest.sum()))


def _same(p):
    return float(p)


def _logit(p):
    if p <= 0.0:
        return -np.inf
    return np.inf if p >= 1.0 else float(np.log(p) - np.log1p(-p))


def _log(value):
    return float(np.log(value)) if value > 0 else -np.inf


def _root(value):
    return float(np.sign(value) * np.sqrt(abs(value)))


_INVERSE = {
    "identity": _same,
    "sigmoid": _logit,
    "exp": _log,
    "signed_square": _root,
}
