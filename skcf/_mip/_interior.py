"""Convex relaxations of a network, many at a time, by an interior-point method."""

from dataclasses import dataclass

import numpy as np

MAX_STEPS = 40
# How near a bound comes to the value of a relaxation, where it has to be near.
NEAR, BROKEN = 3e-8, 1e-8
# And where it only has to tell which way to go: that part of what is missing.
ROUGH, BROKEN_ROUGH = 0.02, 1e-3
WORSE = 1e3


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Points and multipliers of relaxations.

    Attributes
    ----------
    bound : ndarray of shape (n,)
        No point of a relaxation costs less; holds whatever the multipliers are.
    steps : ndarray of shape (n, n_numbers)
    out, gap : ndarray of shape (n, n_units)
        Outputs of the units, and what they are above their sums.
    strain : ndarray of shape (n, n_units)
        What the cost hangs on each unit not being more than its upper line.
    """

    bound: np.ndarray
    steps: np.ndarray
    out: np.ndarray
    gap: np.ndarray
    strain: np.ndarray


class Relaxation:
    r"""The least cost where each unit is anywhere in its triangle.

    A unit with the sum :math:`a \in [l, u]` has an output :math:`h` and a gap
    :math:`e = h - a`, both not negative. Where it is not settled
    :math:`h / u + e / |l| \le 1`; where it is, one of them is zero. All the rows
    :math:`E v = f` that tie sums to what is before them, and the target, have
    multipliers :math:`y`, and

    .. math::

        y \cdot f + \sum_i \min_{v_i} \big( c_i(v_i) - (E^\top y)_i v_i \big)

    is a bound for any of them: numbers, and the triangle of each unit, are looked at
    one by one. So nothing hangs on how well the multipliers were found, which a
    primal-dual method with predictor and corrector does [1]_.

    Parameters
    ----------
    net : Net
    price : Price
        Scaled, so that costs and moves of interest are about one.

    References
    ----------
    .. [1] Mehrotra, S. (1992). On the implementation of a primal-dual interior point
       method. SIAM Journal on Optimization, 2(4), 575-601. doi:10.1137/0802028
    """

    def __init__(self, net, price):
        self.net, self.price = net, price
        ends = net.ends
        m, r = ends[-1], len(net.least)
        self.n, self.m, self.r, self.first = len(net.slopes), m, r, net.sizes[0]
        rows = np.vstack([np.eye(m), np.zeros((r, m))])
        for k, w in enumerate(net.weights[:-1]):
            rows[ends[k + 1] : ends[k + 2], ends[k] : ends[k + 1]] -= w.T
        rows[m:, ends[-2] :] = net.factors @ net.weights[-1].T
        self.rows = rows
        self.right = np.concatenate(
            [*net.biases[:-1], net.least - net.factors @ net.biases[-1]]
        )
        self.live = price.cap > 0
        self.cap = np.where(self.live, price.cap, 1.0)

    def bound(self, y, low, high, more=0.0):
        """Return the bounds of shape (n,) that multipliers (n, n_rows) prove."""
        m, price = self.m, self.price
        y = np.concatenate([y[:, :m], np.maximum(y[:, m:], 0.0)], axis=1)
        gain = -(y[:, : self.first] @ self.net.slopes.T)[:, None, :] * SIGN
        moves = price.cheapest(gain)
        out = y @ self.right + y[:, m:].sum(axis=1) * more
        out += price.of(moves) - (gain * moves).sum(axis=(1, 2))
        out_low, out_high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        gap_low, gap_high = np.maximum(-high, 0.0), np.maximum(-low, 0.0)
        per_out, per_gap = -(y @ self.rows), y[:, :m]
        on = np.minimum(per_out * out_low, per_out * out_high)
        off = np.minimum(per_gap * gap_low, per_gap * gap_high)
        units = np.where(low >= 0, on, np.where(high <= 0, off, np.minimum(on, off)))
        return out + units.sum(axis=1)

    def solve(self, low, high, enough, exact, more=0.0, expired=None):
        """Return the Relaxed for bounds of the sums, of shape (n, n_units).

        Parameters
        ----------
        enough : float
            A bound of so much need not be raised.
        exact : ndarray of bool of shape (n,)
            Whether a bound has to come near the value of its relaxation.
        more : float, default=0
            What is asked of the rows of the target on top.
        expired : callable, default=None
            Whether to stop with what there is.
        """
        state = _State(self, low, high, more)
        n = len(low)
        out = Relaxed(
            np.full(n, -np.inf),
            np.zeros((n, self.n)),
            *(np.zeros((n, self.m)) for _ in range(3)),
        )
        place, best = np.arange(n), np.full(n, -np.inf)
        merit = np.full(n, np.inf)
        for turn in range(MAX_STEPS):
            best = np.fmax(best, self.bound(state.y, state.low, state.high, more))
            away, broken = state.cost() - best, state.broken()
            off = np.maximum(away, 0.0) + broken
            better = off < merit
            merit = np.where(better, off, merit)
            self._store(out, place[better], state, better)
            done = (best >= enough) | ((away < NEAR) & (broken < BROKEN))
            rough = away < ROUGH * np.maximum(enough - best, 0.0)
            done |= ~exact & rough & (broken < BROKEN_ROUGH)
            # Rounding errors have the upper hand from here.
            done |= ~(off < WORSE * merit) & (merit < BROKEN_ROUGH)
            over = turn == MAX_STEPS - 1 or (expired is not None and expired())
            done |= over | ~np.isfinite(off)
            if done.any():
                out.bound[place[done]] = best[done]
                if done.all():
                    break
                kept = ~done
                state.keep(kept)
                place, best, exact = place[kept], best[kept], exact[kept]
                merit = merit[kept]
            state.advance()
        return out

    def _store(self, out, place, state, some):
        """Keep where the method is in some relaxations."""
        out.steps[place] = state.steps()[some]
        for name in ("out", "gap", "strain"):
            getattr(out, name)[place] = getattr(state, name)[some]


SIGN = np.array([[1.0], [-1.0]])


class _State:
    """Where the method is in each of several relaxations.

    All that is not negative is in one array `v`: moves up, moves down, outputs, gaps,
    what is left over of the target; then what is left below the ends of the moves and
    below the upper lines of units. `w` has the multiplier of each.
    """

    def __init__(self, problem, low, high, more):
        self.p, self.low, self.high = problem, low, high
        n, m, r = problem.n, problem.m, problem.r
        size = len(low)
        cuts = np.cumsum([2 * n, m, m, r, 2 * n])
        self.parts = [
            slice(a, b) for a, b in zip([0, *cuts], [*cuts, None], strict=True)
        ]
        self.inner = cuts[3]
        on, off = low >= 0, high <= 0
        self.up = np.where(off, 0.0, 1.0 / np.where(off, 1.0, np.maximum(high, 1e-12)))
        self.down = np.where(on, 0.0, 1.0 / np.where(on, 1.0, np.maximum(-low, 1e-12)))
        live = np.broadcast_to(problem.live.ravel(), (size, 2 * n))
        some = np.ones((size, r), dtype=bool)
        self.mask = np.hstack([live, ~off, ~on, some, live, some[:, :1].repeat(m, 1)])
        share = np.where(on | off, 0.5, 1.0 / 3.0)
        cap = np.broadcast_to(problem.cap.ravel(), (size, 2 * n))
        out = share / np.where(off, 1.0, self.up)
        gap = share / np.where(on, 1.0, self.down)
        left = 1.0 - self.up * out - self.down * gap
        self.v = np.hstack([0.1 * cap, out, gap, np.ones((size, r)), 0.9 * cap, left])
        self.v[~self.mask] = 1.0
        self.w = np.where(self.mask, 0.1 / self.v, 0.0)
        self.y = np.zeros((size, m + r))
        self.right = problem.right + np.repeat([0.0, more], [m, r])

    def keep(self, kept):
        """Go on with some of the relaxations."""
        for name in ("low", "high", "up", "down", "mask", "v", "w", "y"):
            setattr(self, name, getattr(self, name)[kept])

    def _part(self, array, i):
        """Return a part of an array, with 0 for what does not exist."""
        at = self.parts[i]
        return np.where(self.mask[:, at], array[:, at], 0.0)

    def _moves(self, array):
        return self._part(array, 0).reshape(len(array), 2, -1)

    @property
    def out(self):
        """Outputs of the units."""
        return self._part(self.v, 1)

    @property
    def gap(self):
        """What outputs are above sums."""
        return self._part(self.v, 2)

    @property
    def strain(self):
        """Multipliers of the upper lines."""
        return self._part(self.w, 5)

    def steps(self):
        """Return the moves up less those down."""
        moves = self._moves(self.v)
        return moves[:, 0] - moves[:, 1]

    def cost(self):
        """Return the cost of the moves."""
        return self.p.price.of(self._moves(self.v))

    def _rows(self, array):
        """Return the left sides of all rows at an array like `v`."""
        p = self.p
        moves = self._moves(array)
        out = self._part(array, 1) @ p.rows.T
        out[:, : p.first] -= (moves[:, 0] - moves[:, 1]) @ p.net.slopes
        out[:, : p.m] -= self._part(array, 2)
        out[:, p.m :] -= self._part(array, 3)
        return out

    def _columns(self, y):
        """Return what multipliers of the rows add to each of what is in them."""
        p = self.p
        moves = -SIGN * (y[:, : p.first] @ p.net.slopes.T)[:, None, :]
        moves = moves.reshape(len(y), -1)
        return np.hstack([moves, y @ p.rows, -y[:, : p.m], -y[:, p.m :]])

    def _tied(self, array):
        """Return what rows of ends and upper lines make of what is left below them."""
        left = array[:, self.inner :]
        moves, lines = left[:, : 2 * self.p.n], left[:, 2 * self.p.n :]
        none = np.zeros((len(array), self.p.r))
        return np.hstack([moves, self.up * lines, self.down * lines, none])

    def _used(self, array):
        """Return what moves and units use of their ends and upper lines."""
        used = self.up * self._part(array, 1) + self.down * self._part(array, 2)
        return np.hstack([self._part(array, 0), used])

    def broken(self):
        """Return by how much rows are broken."""
        return np.abs(self._rows(self.v) - self.right).max(axis=1)

    def advance(self):
        """Take one step."""
        newton = _Newton(self)
        mean = (self.v * self.w).sum(axis=1) / self.mask.sum(axis=1)
        dv, dw, _ = newton.direction(0.0)
        ahead = self.v + self._stride(self.v, dv) * dv
        behind = self.w + self._stride(self.w, dw) * dw
        hoped = (ahead * behind * self.mask).sum(axis=1) / self.mask.sum(axis=1)
        aim = np.clip((hoped / mean) ** 3, 1e-6, 1.0) * mean
        dv, dw, dy = newton.direction(aim[:, None] - dv * dw)
        primal = np.minimum(1.0, 0.99 * self._stride(self.v, dv))
        dual = np.minimum(1.0, 0.99 * self._stride(self.w, dw))
        self.v = self.v + primal * dv
        self.w, self.y = self.w + dual * dw, self.y + dual * dy

    def _stride(self, array, change):
        """Return how far it is until something is negative, of shape (n, 1)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            far = np.where((change < 0) & self.mask, -array / change, np.inf)
        return np.minimum(far.min(axis=1, keepdims=True), 1e3)


class _Newton:
    """The linear system of one step, for several right sides."""

    def __init__(self, state):
        self.s, p = state, state.p
        n = 2 * p.n
        s, v, w = state, state.v, state.w
        per = np.where(s.mask, w / v, 0.0)
        inner, outer = per[:, : s.inner], per[:, s.inner :]
        curve = 2.0 * p.price.square.ravel() + inner[:, :n] + outer[:, :n]
        self.moves = np.where(s.mask[:, :n], 1.0 / np.where(curve > 0, curve, 1.0), 0.0)
        has_out, has_gap = s.mask[:, s.parts[1]], s.mask[:, s.parts[2]]
        out = np.where(has_out, per[:, s.parts[1]], 1.0)
        gap = np.where(has_gap, per[:, s.parts[2]], 1.0)
        line = outer[:, n:]
        # Each unit has a system of two by two.
        det = out * gap + line * (s.up**2 * gap + s.down**2 * out)
        self.out = np.where(has_out, (gap + line * s.down**2) / det, 0.0)
        self.gap = np.where(has_gap, (out + line * s.up**2) / det, 0.0)
        self.both = np.where(has_out & has_gap, -line * s.up * s.down / det, 0.0)
        self.rest = 1.0 / per[:, s.parts[3]]
        self.matrix = self._matrix()
        self.inverse = _inverse(self.matrix)
        grad = p.price.line.ravel() + 2.0 * p.price.square.ravel() * v[:, :n]
        self.slope = -s._columns(s.y) - w[:, : s.inner] + s._tied(w)
        self.slope[:, :n] += grad
        self.short = s.right - s._rows(v)
        full = np.hstack([p.cap.ravel(), np.ones(p.m)])
        self.over = np.where(
            s.mask[:, s.inner :], s._used(v) + v[:, s.inner :] - full, 0.0
        )

    def _matrix(self):
        p = self.s.p
        m, first = p.m, p.first
        out = (p.rows * self.out[:, None, :]) @ p.rows.T
        cross = p.rows * self.both[:, None, :]
        out[:, :, :m] -= cross
        out[:, :m, :] -= cross.transpose(0, 2, 1)
        at = np.arange(m + p.r)
        out[:, at, at] += np.hstack([self.gap, self.rest])
        both = self.moves.reshape(len(out), 2, -1).sum(axis=1)
        out[:, :first, :first] += (p.net.slopes.T * both[:, None, :]) @ p.net.slopes
        out[:, at, at] *= 1.0 + 1e-14
        return out

    def direction(self, aim):
        """Return the changes of `v`, `w` and `y` towards products of `aim`."""
        s = self.s
        v, w, inner = s.v, s.w, s.inner
        aim = np.where(s.mask, aim, 0.0) / v
        tight = aim - w
        tight[:, inner:] += w[:, inner:] * self.over / v[:, inner:]
        tight[~s.mask] = 0.0
        want = tight[:, :inner] - self.slope - s._tied(tight)
        known = self._apart(want)
        short = (self.short - s._rows(known))[:, :, None]
        dy = self.inverse @ short
        dy = (dy + self.inverse @ (short - self.matrix @ dy))[:, :, 0]
        inside = known + self._apart(s._columns(dy))
        outside = np.where(s.mask[:, inner:], -self.over - s._used(inside), 0.0)
        dv = np.hstack([inside, outside])
        dw = np.where(s.mask, aim - w - w * dv / v, 0.0)
        return dv, dw, dy

    def _apart(self, right):
        """Return what single numbers and units answer to right sides."""
        _, one, two, three = (right[:, at] for at in self.s.parts[:4])
        return np.hstack(
            [
                self.moves * right[:, self.s.parts[0]],
                self.out * one + self.both * two,
                self.both * one + self.gap * two,
                self.rest * three,
            ]
        )


def _inverse(matrices):
    """Return inverses; a relaxation without a point leads to systems without one."""
    try:
        return np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        at = np.arange(matrices.shape[1])
        matrices[:, at, at] += 1e-8 * (1.0 + matrices[:, at, at])
        try:
            return np.linalg.inv(matrices)
        except np.linalg.LinAlgError:
            return np.full_like(matrices, np.nan)
