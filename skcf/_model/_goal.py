"""What the rows of one call should become, and how far a model's output is from it."""

from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Goal:
    """The wanted outcome of each row, as arrays.

    For a classifier `label` is the position in ``classes_`` of the wanted class or,
    where `opposite`, of the class to leave; `nu` is the least probability of it. For
    a regressor the prediction is to lie in [`low`, `high`].
    """

    label: np.ndarray | None = None
    opposite: np.ndarray | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    nu: float | None = None

    def __len__(self):
        return len(self.low if self.label is None else self.label)

    def take(self, rows):
        """Return the goals of some rows."""
        parts = (
            None if part is None else part[rows]
            for part in (self.label, self.opposite, self.low, self.high)
        )
        return Goal(*parts, self.nu)

    def reached(self, prediction, probability=None):
        """Return where predictions (class positions or numbers) are in the target."""
        if self.label is None:
            return (prediction >= self.low) & (prediction <= self.high)
        same = prediction == self.label
        inside = np.where(self.opposite, ~same, same)
        if self.nu is not None:
            inside &= self.mass(probability) >= self.nu
        return inside

    def mass(self, probability):
        """Return the probability of the target."""
        p = probability[np.arange(len(probability)), self.label]
        return np.where(self.opposite, 1.0 - p, p)

    def keys(self):
        """Return an array that is equal for equal goals, to seed a row's stream."""
        if self.label is None:
            return np.column_stack([self.low, self.high])
        return np.column_stack([self.label, self.opposite]).astype(np.float64)


def check_target(target, n, classes, *, name="target"):
    """Return (label, opposite) arrays for the classes of a classifier.

    `target` is one label for all rows, one a row, "opposite" or None (opposite).
    The label of an opposite row is -1: the caller puts the class to leave there.
    """
    one = target is None or np.ndim(target) == 0
    given = [target] if one else list(target)
    if not one and len(given) != n:
        raise ValueError(f"{name} has {len(given)} entries for {n} rows.")
    known = {label: k for k, label in enumerate(classes.tolist())}
    label = np.empty(len(given), dtype=np.intp)
    for i, value in enumerate(given):
        value = value.item() if isinstance(value, np.generic) else value
        if value in known:
            label[i] = known[value]
        elif value is None or value == "opposite":
            label[i] = -1
        else:
            raise ValueError(
                f"{name} {value!r} is not a class of the estimator; expected "
                f"'opposite' or one of {classes.tolist()}."
            )
    label = np.repeat(label, n) if one else label
    return label, label < 0


def check_interval(target, n, *, name="target"):
    """Return (low, high) arrays for a regressor; None is an open end."""
    hint = (
        f"{name} of a regressor must be (low, high), None for an open end, or one "
        f"such pair a row; got {target!r}."
    )
    if target is None or isinstance(target, str):
        raise ValueError(hint)
    try:
        pairs = np.array(target, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(hint) from None
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (n, 1))
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(hint)
    if len(pairs) != n:
        raise ValueError(f"{name} has {len(pairs)} intervals for {n} rows.")
    low = np.where(np.isnan(pairs[:, 0]), -np.inf, pairs[:, 0])
    high = np.where(np.isnan(pairs[:, 1]), np.inf, pairs[:, 1])
    if (low > high).any():
        bad = int(np.argmax(low > high))
        raise ValueError(
            f"{name} {tuple(pairs[bad])} of row {bad} is empty: low > high."
        )
    return low, high
