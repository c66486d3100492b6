"""One linear row over numbers that each cost a line plus a square, in closed form."""

import numpy as np


def fill(gain, line, square, cap, need):
    """Return the cheapest amounts that reach a need, None if they cannot.

    Minimises ``line @ a + square @ a**2`` subject to ``gain @ a >= need`` and
    ``0 <= a <= cap``. At a price per unit of the need, each amount is as large as its
    marginal cost allows; the price at which the need is met lies between two of the
    prices at which an amount starts or ends growing.

    Parameters
    ----------
    gain : ndarray of shape (n,)
        Positive.
    line, square, cap : ndarray of shape (n,)
        Not negative.
    need : float
    """
    if need <= 0:
        return np.zeros(len(gain))
    if gain @ cap < need:
        return None
    start = line / gain
    end = (line + 2 * square * cap) / gain
    prices = np.unique(np.concatenate([start, end]))
    growing = square > 0

    def amounts(price, after):
        """Return amounts at a price, those without a square before or after it."""
        out = np.zeros(len(gain))
        curved = (price * gain - line)[growing] / (2 * square[growing])
        out[growing] = np.clip(curved, 0.0, cap[growing])
        full = start <= price if after else start < price
        out[~growing & full] = cap[~growing & full]
        return out

    low, high = 0, len(prices) - 1
    while low < high:
        middle = (low + high) // 2
        if gain @ amounts(prices[middle], True) >= need:
            high = middle
        else:
            low = middle + 1
    price = prices[low]
    below = amounts(price, False)
    short = need - gain @ below
    if short > 0:
        # Amounts without a square jump at this price, cheapest first by no order.
        for i in np.flatnonzero(~growing & (start == price)):
            below[i] = min(cap[i], short / gain[i])
            short -= gain[i] * below[i]
            if short <= 0:
                break
        return below
    before = prices[low - 1] if low else 0.0
    least = amounts(before, True)
    done, rest = gain @ least, gain @ (below - least)
    share = (need - done) / rest if rest > 0 else 1.0
    return least + share * (below - least)
