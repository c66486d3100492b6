"""How scores become the probabilities of all classes."""

import numpy as np


def pair(second, total=1.0):
    """Return two columns that add up to a total, from the second one."""
    out = np.empty((len(second), 2))
    np.subtract(total, second, out=out[:, 0])
    out[:, 1] = second
    return out


def shares(parts):
    """Return rows divided by their sums, equal shares where all is zero."""
    total = parts.sum(axis=1, keepdims=True)
    equal = np.full_like(parts, 1.0 / parts.shape[1])
    return np.divide(parts, total, out=equal, where=total != 0)
