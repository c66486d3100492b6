"""What the sums of units can be where nothing is dearer than a known answer."""

import numpy as np

# Sums of floats may be off by so much, relative to their size.
SLACK = 1e-10


class UnitBounds:
    r"""Least and greatest sums of the units of a network within a cost.

    A sum is bounded from both sides by lines in the numbers: backwards through the
    layers a unit that is not settled lies below the line through its ends and above
    0 or its own sum [1]_. The least of a line :math:`s \cdot d` over all :math:`d`
    with a cost of at most :math:`C` is

    .. math::

        \max_{t > 0} \; \sum_j \min_{d_j} \big( s_j d_j + t\, c_j(d_j) \big) - t\, C

    and every :math:`t` gives a bound.

    Parameters
    ----------
    net : Net
    price : Price
        With squares above zero.

    References
    ----------
    .. [1] Zhang, H., Weng, T.-W., Chen, P.-Y., Hsieh, C.-J., Daniel, L. (2018).
       Efficient neural network robustness certification with general activation
       functions. Advances in Neural Information Processing Systems, 31.
       doi:10.48550/arXiv.1811.00866
    """

    def __init__(self, net, price):
        self.net, self.price = net, price

    def tightened(self, low, high, top):
        """Return bounds of shape (n, n_units), at most as wide as those given."""
        low, high = low.copy(), high.copy()
        ends = self.net.ends
        for k in range(len(self.net.sizes)):
            here = slice(ends[k], ends[k + 1])
            least = self._least(k, 1.0, low, high, top)
            most = -self._least(k, -1.0, low, high, top)
            slack = SLACK * (1.0 + np.abs(least) + np.abs(most))
            low[:, here] = np.maximum(low[:, here], least - slack)
            high[:, here] = np.minimum(high[:, here], most + slack)
        return low, high

    def _least(self, k, sign, low, high, top):
        """Return the least of the sums of a layer times a sign, (n, n_layer)."""
        net, ends = self.net, self.net.ends
        rest = np.broadcast_to(sign * net.biases[k], (len(low), net.sizes[k]))
        if k == 0:
            return self._line(sign * net.slopes.T, top) + rest
        slope = np.broadcast_to(
            sign * net.weights[k - 1].T, (len(low), *net.weights[k - 1].T.shape)
        )
        for j in range(k - 1, -1, -1):
            here = slice(ends[j], ends[j + 1])
            above, offset, below = lines(low[:, None, here], high[:, None, here])
            more, less = np.maximum(slope, 0.0), np.minimum(slope, 0.0)
            rest = rest + (less * offset).sum(axis=2)
            slope = more * below + less * above
            rest = rest + slope @ net.biases[j]
            slope = slope @ (net.weights[j - 1].T if j else net.slopes.T)
        return self._line(slope, top) + rest

    def _line(self, slope, top):
        """Return the least of lines over the numbers, of shape (..., n_numbers)."""
        price = self.price
        gain = np.maximum(np.stack([-slope, slope], axis=-2), 0.0)
        # The best factor without a line in the cost and without ends.
        t = np.sqrt((gain**2 / (4.0 * price.square)).sum(axis=(-1, -2)) / top)
        t = np.maximum(t, 1e-300)
        moves = price.cheapest(gain / t[..., None, None])
        return t * (price.of(moves) - top) - (gain * moves).sum(axis=(-1, -2))


def lines(low, high):
    """Return (slope above, offset above, slope below) of units with these sums."""
    on, off = low >= 0, high <= 0
    open_ = ~(on | off)
    width = np.where(open_, high - low, 1.0)
    above = np.where(open_, high / width, on)
    offset = np.where(open_, -high * low / width, 0.0)
    return above, offset, np.where(open_, high > -low, on)
