"""The cheapest step onto one half-space under linear rows: a small program."""

import numpy as np
from scipy.optimize import linprog, nnls

# Half-lengths of the interval that holds the best cap on the longest reach.
N_SECTIONS = 60
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
TOLERANCE = 1e-9
# A curve this small next to the largest one is given to variables that have none.
FLATTEST = 1e-8


class UnprovedError(Exception):
    """A search ended, by time or by rounding, before it had proved its answer."""


def coupled_step(rows, at_most, low, high, prices):
    """Return the cheapest step with ``rows @ s <= at_most``, None if there is none.

    Raises UnprovedError if the solver cannot tell.

    Parameters
    ----------
    rows : ndarray of shape (m, n)
    at_most : ndarray of shape (m,)
    low, high : ndarray of shape (n,)
        The box; infinite where open.
    prices : Prices
        Its entry prices are not looked at.
    """
    if not prices.curve.any():
        return _linear(rows, at_most, low, high, prices)
    step = _quadratic(rows, at_most, low, high, prices)
    if step is None or not prices.most:
        return step
    return _capped(rows, at_most, low, high, prices, step)


def lazily(solve, rows, at_most):
    """Return `solve` of as few rows as needed for all of them to hold.

    `solve` takes some of the rows and returns a step or None.
    """
    used = np.zeros(len(rows), dtype=bool)
    while True:
        step = solve(rows[used], at_most[used])
        if step is None:
            return None
        over = rows @ step - at_most
        over[used] = -np.inf
        if not len(over) or over.max() <= TOLERANCE:
            return step
        used[over.argmax()] = True


def _linear(rows, at_most, low, high, prices):
    """Solve a linear program over moves down and up and the longest reach."""
    n = len(low)
    cost = np.r_[prices.slope.ravel(), prices.most]
    cost[:-1] += 1e-9 * max(cost.max(), 1e-9)  # of moves that cost nothing, short ones
    both = np.hstack([-rows, rows, np.zeros((len(rows), 1))])
    reach = np.hstack([np.diag(r) for r in prices.reach])
    reach = np.hstack([reach, np.full((n, 1), -1.0)])
    bounds = [(0, max(-b, 0.0)) for b in low] + [(0, max(b, 0.0)) for b in high]
    box = np.hstack([-np.eye(n), np.eye(n), np.zeros((n, 1))])
    closed = np.isfinite(high), np.isfinite(low)
    result = linprog(
        cost,
        A_ub=np.vstack([both, reach, box[closed[0]], -box[closed[1]]]),
        b_ub=np.r_[at_most, np.zeros(n), high[closed[0]], -low[closed[1]]],
        bounds=[*bounds, (0, None)],
        method="highs",
    )
    if result.status not in (0, 2):
        raise UnprovedError(result.message)
    return result.x[n : 2 * n] - result.x[:n] if result.status == 0 else None


def _quadratic(rows, at_most, low, high, prices):
    """Solve a separable quadratic program as one of least distance.

    With moves down and up, scaled and shifted, the cost is a squared distance. Its
    least value under rows is a non-negative least squares problem (Lawson & Hanson,
    1974, chapter 23).
    """
    n = len(low)
    curve = np.maximum(prices.curve, FLATTEST * prices.curve.max()).ravel()
    unit = 1.0 / np.sqrt(curve)
    shift = prices.slope.ravel() / (2 * curve)
    closed = np.isfinite(high), np.isfinite(low)
    eye = np.eye(n)
    all_rows = np.vstack([rows, eye[closed[0]], -eye[closed[1]]])
    limit = np.r_[at_most, high[closed[0]], -low[closed[1]]]
    # Of moves (down, up) >= 0: row . (up - down) <= limit.
    system = np.vstack([np.hstack([all_rows, -all_rows]), np.eye(2 * n)])
    least = np.r_[-limit, np.zeros(2 * n)]
    # In y = (move + shift) / unit the cost is |y|^2, up to a constant.
    matrix, right = system * unit, least + system @ shift
    size = np.linalg.norm(matrix, axis=1)
    size[size == 0] = 1.0
    matrix, right = matrix / size[:, None], right / size
    target = np.zeros(2 * n + 1)
    target[-1] = 1.0
    try:
        factors, _ = nnls(np.vstack([matrix.T, right]), target, maxiter=5000)
    except RuntimeError as error:  # too many iterations
        raise UnprovedError(str(error)) from None
    rest = np.vstack([matrix.T, right]) @ factors - target
    if rest[-1] > -1e-13:  # the rows contradict one another
        return None
    moves = np.maximum(-rest[:-1] / rest[-1] * unit - shift, 0.0)
    step = moves[n:] - moves[:n]
    if (all_rows @ step - limit).max(initial=0.0) > 1e-6:
        raise UnprovedError("A least squares solution does not satisfy its rows.")
    return np.clip(step, low, high)


def _capped(rows, at_most, low, high, prices, step):
    """Search for the best cap on the longest reach by golden section."""
    best, least = step, prices.of_steps(step)
    flat = np.where(prices.reach > 0, prices.reach, np.nan)

    def under(cap):
        down, up = np.nan_to_num(cap / flat, nan=np.inf)
        bottom, top = np.maximum(low, -down), np.minimum(high, up)
        if (bottom > top).any():
            return np.inf
        nonlocal best, least
        try:
            found = _quadratic(rows, at_most, bottom, top, prices)
        except UnprovedError:  # a cap that leaves next to no room
            return np.inf
        cost = np.inf if found is None else prices.of_steps(found)
        if cost < least:
            best, least = found, cost
        return cost

    left, right = 0.0, (prices.directed("reach", step > 0) * np.abs(step)).max()
    one, two = right - GOLDEN * right, GOLDEN * right
    cost_one, cost_two = under(one), under(two)
    for _ in range(N_SECTIONS):
        if cost_one < cost_two:
            right, two, cost_two = two, one, cost_one
            one = right - GOLDEN * (right - left)
            cost_one = under(one)
        else:
            left, one, cost_one = one, two, cost_two
            two = left + GOLDEN * (right - left)
            cost_two = under(two)
    return best
