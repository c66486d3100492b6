"""A network over numbers, and convex costs of moving these."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Net:
    """A network of rectified linear units that has to reach a target.

    Attributes
    ----------
    slopes : ndarray of shape (n_numbers, n_first)
        What a unit of each number adds to the sums of the first layer.
    weights : list of ndarray of shape (n_in, n_out)
        Of the layers after the first.
    biases : list of ndarray of shape (n_out,)
        Of all layers; those of the first are its sums at the query.
    factors, least : ndarray of shape (n_rows, n_outputs), (n_rows,)
        The target: ``factors @ outputs >= least``.
    """

    slopes: np.ndarray
    weights: list
    biases: list
    factors: np.ndarray
    least: np.ndarray

    @property
    def sizes(self):
        """The number of units of each hidden layer."""
        return [w.shape[0] for w in self.weights]

    @property
    def ends(self):
        """Where the units of each hidden layer begin, and the last of them end."""
        return np.cumsum([0, *self.sizes])

    def shortage(self, steps):
        """Return what the rows of the target lack, of shape (n_rows,)."""
        return self.least - self.factors @ self._sums(steps)[-1]

    def tangent(self, steps, row):
        """Return the slopes of a row of the target in the numbers."""
        sums = self._sums(steps)
        slope = self.factors[row]
        for w, a in zip(self.weights[::-1], sums[-2::-1], strict=True):
            slope = (w @ slope) * (a > 0)
        return self.slopes @ slope

    def _sums(self, steps):
        out = [steps @ self.slopes + self.biases[0]]
        for w, b in zip(self.weights, self.biases[1:], strict=True):
            out.append(np.maximum(out[-1], 0.0) @ w + b)
        return out


@dataclass(frozen=True, eq=False)
class Price:
    """What numbers cost that move up or down: a line plus a square, up to an end.

    Attributes
    ----------
    line, square, cap : ndarray of shape (2, n_numbers)
        The first row is of moves up, the second of moves down.
    """

    line: np.ndarray
    square: np.ndarray
    cap: np.ndarray

    def of(self, moves):
        """Return the cost of moves of shape (..., 2, n_numbers)."""
        return ((self.line + self.square * moves) * moves).sum(axis=(-1, -2))

    def cheapest(self, gain):
        """Return the moves that are least in their cost less what they gain."""
        with np.errstate(divide="ignore", invalid="ignore"):
            curved = (gain - self.line) / (2.0 * self.square)
        flat = np.where(gain > self.line, self.cap, 0.0)
        return np.where(self.square > 0, np.clip(curved, 0.0, self.cap), flat)
