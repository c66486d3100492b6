"""The target of a query as linear rows over the outputs of the last layer."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logit, softmax

from skcf._model import TOLERANCE

# Beyond it a probability is 1 as floats go.
SURE = 40.0


@dataclass(frozen=True, eq=False)
class GoalRows:
    """Rows ``factors @ outputs >= least``, all of which put a point in the target.

    Attributes
    ----------
    factors : ndarray of shape (n_rows, n_outputs)
    least : ndarray of shape (n_rows,)
    label : int
        The class to reach, where the rows are not all.
    nu : float or None
        The probability that softmax has to give that class: no linear row.
    """

    factors: np.ndarray
    least: np.ndarray
    label: int = -1
    nu: float | None = None

    def holds(self, outputs):
        """Tell whether outputs, of shape (n_outputs,), satisfy everything."""
        ok = (self.factors @ outputs >= self.least).all()
        return bool(ok and (self.nu is None or self.gap(outputs) >= 0))

    def gap(self, outputs):
        """Return the log-probability of the class beyond what is wanted."""
        top = outputs.max()
        return (
            outputs[self.label]
            - top
            - np.log(np.exp(outputs - top).sum())
            - (np.log(self.nu))
        )

    def tangent(self, outputs):
        """Return the (factors, least) of a row that holds wherever nu is reached.

        The logarithm of a softmax is concave: a plane that touches it lies above it.
        """
        slope = -softmax(outputs)
        slope[self.label] += 1.0
        return slope, float(slope @ outputs - self.gap(outputs))


def goal_rows(model, goal, margin=1.0):
    """Return the alternatives of a target: in each of them it is reached.

    Parameters
    ----------
    model : BlackBox
        Whose view is a stack of layers.
    goal : Goal
        Of one row.
    margin : float, default=1
        By what factor of the least possible the boundary is kept clear of.
    """
    link = model.view.kernel.link
    clear = 2 * TOLERANCE * margin
    if goal.label is None:
        low, high = float(goal.low[0]), float(goal.high[0])
        gap = min(clear * model.scale, (high - low) / 4)
        rows = [(1.0, low + gap), (-1.0, gap - high)]
        rows = [(f, b) for f, b in rows if np.isfinite(b)]
        factors = np.array([[f] for f, _ in rows]).reshape(-1, 1)
        return [GoalRows(factors, np.array([b for _, b in rows]))]
    label, opposite = int(goal.label[0]), bool(goal.opposite[0])
    n = len(model.classes_)
    if n == 2 and opposite:
        label, opposite = 1 - label, False
    if link in ("flat", "pair"):
        return [_binary(model, goal, label, clear)]
    lead = clear * (n if link == "softmax" else model.scale)
    if not opposite:
        others = [c for c in range(n) if c != label]
        nu = None if goal.nu is None else goal.nu + clear
        return [_wide(n, label, others, lead, nu)]
    if goal.nu is not None:
        raise ValueError(
            "A threshold with the target 'opposite' of more than two classes is no "
            "set of linear rows; name the class to reach."
        )
    return [_wide(n, c, [label], lead, None) for c in range(n) if c != label]


def _binary(model, goal, label, clear):
    """Return the row of one score: above or below its cut."""
    sign = 1.0 if label == 1 else -1.0
    if model.view.kernel.link == "flat":
        least = sign * model.cut + clear * model.scale
        return GoalRows(np.array([[sign]]), np.array([least]))
    cut = 0.5 if model.cut is None else model.cut
    # Where there is no cut the margin is the difference of both probabilities.
    edge = cut + sign * clear / (2 if model.cut is None else 1)
    least = sign * np.clip(logit(np.clip(edge, 0.0, 1.0)), -SURE, SURE)
    if goal.nu is not None:
        least = max(least, min(float(logit(min(goal.nu + clear, 1.0))), SURE))
    return GoalRows(np.array([[sign]]), np.array([least]))


def _wide(n, label, others, lead, nu):
    """Return the rows that a class leads others, and what softmax has to give it."""
    factors = np.zeros((len(others), n))
    factors[:, label] = 1.0
    factors[np.arange(len(others)), others] = -1.0
    least = np.full(len(others), lead)
    if nu is None:
        return GoalRows(factors, least)
    most = 1.0 - 1e-15
    if nu > 0.5:
        least = np.maximum(least, min(float(logit(min(nu, most))), SURE))
    return GoalRows(factors, least, label, min(nu, most))
