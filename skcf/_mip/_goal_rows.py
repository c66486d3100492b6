"""The target of a query as linear rows over the outputs of the last layer."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logit, softmax

from skcf._model import TOLERANCE
from skcf._model._black_box import NOISE

# Beyond it a probability is 1 as floats go.
SURE = 40.0
# The boundary of the model is kept clear of by these multiples of the least margin:
# the next one is tried where the model itself turns an answer down.
MARGINS = tuple(10.0**k for k in range(8))
# A closed edge is in the target: nothing on it may be left out, and it is aimed at.
ALL, EDGE = 0.0, 0.5
# The least number above zero.
LEAST = np.nextafter(0.0, 1.0)
# Links of one score to two classes.
_BINARY = ("flat", "pair", "clipped pair")


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


def margins_of(goal):
    """Return the margins to try one after another, the first for what is proved."""
    closed = goal.label is None or goal.nu is not None
    return (ALL, EDGE, *MARGINS) if closed else MARGINS


def goal_rows(model, goal, margin=1.0, *, judging=False):
    """Return the alternatives of a target: in each of them it is reached.

    Parameters
    ----------
    model : BlackBox
        Whose view is a stack of layers.
    goal : Goal
        Of one row.
    margin : float, default=1
        By what factor of the least possible the boundary is kept clear of. Of the
        closed edge of an interval or a threshold, which is in the target, `ALL` leaves
        nothing out that the model may say yes to, and `EDGE` is as near as floats are.
    judging : bool, default=False
        Whether the rows are those of what counts as reached.

    Raises
    ------
    ValueError
        For a threshold that is no set of linear rows.
    """
    link = model.view.kernel.link
    clear = TOLERANCE if judging else 2 * TOLERANCE * max(margin, 1.0)
    edge = clear
    if judging or margin == ALL:
        edge = -NOISE
    elif margin == EDGE:
        edge = NOISE / 2
    if goal.label is None:
        return [_interval(model, goal, edge)]
    label, opposite = int(goal.label[0]), bool(goal.opposite[0])
    n = len(model.classes_)
    if n == 2 and opposite:
        label, opposite = 1 - label, False
    nu = None if goal.nu is None else goal.nu + edge
    if link in _BINARY:
        return [_binary(model, nu, label, clear)]
    check_threshold(model, goal.nu, opposite)
    lead = clear * (n if link == "softmax" else model.scale)
    if not opposite:
        others = [c for c in range(n) if c != label]
        return [_wide(n, label, others, lead, nu)]
    return [_wide(n, c, [label], lead, None) for c in range(n) if c != label]


def check_threshold(model, nu, opposite):
    """Raise where a threshold is not among what `goal_rows` can write."""
    link = model.view.kernel.link
    if nu is None or link in _BINARY:
        return
    if link != "softmax":
        raise ValueError(
            "A threshold is no set of linear rows for probabilities that are shares of "
            f"the sum over {len(model.classes_)} classes, each against the rest."
        )
    if opposite:
        raise ValueError(
            "A threshold with the target 'opposite' of more than two classes is no "
            "set of linear rows; name the class to reach."
        )


def _interval(model, goal, edge):
    """Return the rows of an interval of predictions."""
    low, high = float(goal.low[0]), float(goal.high[0])
    gap = edge * model.scale
    if edge > 0:
        gap = min(gap, (high - low) / 4)
    low, high = low + gap, high - gap
    if model.view.kernel.link == "exp":
        low = np.log(low) if low > 0 else -np.inf
        high = np.log(max(high, LEAST))
    rows = [(f, b) for f, b in ((1.0, low), (-1.0, -high)) if np.isfinite(b)]
    factors = np.array([[f] for f, _ in rows]).reshape(-1, 1)
    return GoalRows(factors, np.array([b for _, b in rows]))


def _binary(model, nu, label, clear):
    """Return the row of one score: above or below its cut."""
    link = model.view.kernel.link
    sign = 1.0 if label == 1 else -1.0
    if link == "flat":
        least = sign * model.cut + clear * model.scale
        return GoalRows(np.array([[sign]]), np.array([least]))
    inverse = _line if link == "clipped pair" else _log_odds
    cut = 0.5 if model.cut is None else model.cut
    # Where there is no cut the margin is the difference of both probabilities.
    edge = cut + sign * clear / (2 if model.cut is None else 1)
    least = sign * inverse(edge)
    if nu is not None:
        least = max(least, inverse(nu))
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


def _log_odds(p):
    return float(np.clip(logit(np.clip(p, 0.0, 1.0)), -SURE, SURE))


def _line(p):
    return 2.0 * float(np.clip(p, 0.0, 1.0)) - 1.0
