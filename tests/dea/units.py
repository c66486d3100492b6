"""Units, and programs in their textbook form to judge the library by."""

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp

# The four firms of the source: two inputs, one output.
FIRMS = np.array(
    [[0.5, 1.0, 1.0], [1.5, 0.5, 1.0], [1.75, 1.25, 1.0], [2.5, 1.25, 1.0]]
)
# One input, one output; the third unit has the largest output, with too much input.
LIMIT = np.array([[1.0, 1.0], [4.0, 3.0], [8.0, 3.0]])
TECHNOLOGIES = ("crs", "vrs", "drs", "irs")


def made(seed, n_units=8, n_inputs=2, n_outputs=2):
    """Return random plans, those of every third seed in whole numbers."""
    rng = np.random.default_rng(seed)
    shape = n_units, n_inputs + n_outputs
    if seed % 3 == 0:
        return rng.integers(1, 6, shape).astype(float)
    return rng.uniform(0.2, 1.0, shape)


def efficiency(units, n_inputs, plan, returns_to_scale="crs", measure="input"):
    """Return the Farrell efficiency of one plan, by its linear program."""
    x, y = units[:, :n_inputs].T, units[:, n_inputs:].T
    x0, y0 = plan[:n_inputs], plan[n_inputs:]
    zeros = np.zeros
    if measure == "input":
        upper = [np.column_stack([-x0, x]), np.column_stack([zeros(len(y)), -y])]
        at_most, cost = np.r_[zeros(len(x)), -y0], 1.0
    else:
        upper = [np.column_stack([zeros(len(x)), x]), np.column_stack([y0, -y])]
        at_most, cost = np.r_[x0, zeros(len(y))], -1.0
    total = np.r_[0.0, np.ones(len(units))]
    equal = {}
    if returns_to_scale == "vrs":
        equal = {"A_eq": total[None], "b_eq": [1.0]}
    elif returns_to_scale != "crs":
        sign = 1.0 if returns_to_scale == "drs" else -1.0
        upper.append(sign * total[None])
        at_most = np.r_[at_most, sign]
    result = linprog(np.r_[cost, zeros(len(units))], np.vstack(upper), at_most, **equal)
    if result.status == 2:
        return np.inf
    if result.status == 3:
        return 0.0
    if measure == "input":
        return result.x[0]
    return 1.0 / result.x[0] if result.x[0] > 1e-9 else np.inf


def bilevel(units, n_inputs, plan, wanted, lowest_kappa, big=1e3):
    """Return the least sum of changes of inputs, variable returns, None if impossible.

    The single-level program of the source by complementary slackness and big numbers,
    with the multiplier kappa of the sum of the weights at least `lowest_kappa`.
    """
    x, y = units[:, :n_inputs], units[:, n_inputs:]
    x0, y0 = plan[:n_inputs], plan[n_inputs:]
    n, i, o = len(units), n_inputs, y.shape[1]
    names = {"down": i, "up": i, "f": 1, "beta": n, "gi": i, "go": o, "kappa": 1}
    names |= {"u": i, "v": o, "w": n}
    ends = np.cumsum([0, *names.values()])
    at = {k: slice(a, b) for k, a, b in zip(names, ends, ends[1:], strict=False)}
    rows, low, high = [], [], []

    def require(lower, upper, **parts):
        height = next(np.atleast_2d(p).shape[0] for p in parts.values())
        block = np.zeros((height, ends[-1]))
        for name, part in parts.items():
            block[:, at[name]] = part
        rows.append(block)
        low.extend(np.broadcast_to(lower, height))
        high.extend(np.broadcast_to(upper, height))

    eye, inf = np.eye, np.inf
    # The slacks of the inputs, of the outputs, and the profits of the units.
    inputs = {"down": -eye(i), "up": eye(i), "beta": -x.T}
    outputs = {"f": -y0[:, None], "beta": y.T}
    profits = {"gi": x, "go": -y, "kappa": -np.ones((n, 1))}
    require(-x0, inf, **inputs)
    require(0, inf, **outputs)
    require(0, inf, **profits)
    require(0, 0, beta=np.ones(n), f=[[-1.0]])
    require(1, 1, go=y0, kappa=[[1.0]])
    require(-inf, big - x0, **inputs, u=big * eye(i))
    require(-inf, big, **outputs, v=big * eye(o))
    require(-inf, big, **profits, w=big * eye(n))
    require(-inf, 0, gi=eye(i), u=-big * eye(i))
    require(-inf, 0, go=eye(o), v=-big * eye(o))
    require(-inf, 0, beta=eye(n), w=-big * eye(n))
    bottom, top = np.zeros(ends[-1]), np.full(ends[-1], inf)
    # Without inputs and outputs the conditions hold, and say nothing.
    bottom[at["f"]] = 0.01
    top[at["down"]], top[at["f"]] = x0, 1.0 / wanted
    bottom[at["kappa"]] = lowest_kappa
    top[at["u"]] = top[at["v"]] = top[at["w"]] = 1.0
    whole = np.zeros(ends[-1])
    whole[at["u"]] = whole[at["v"]] = whole[at["w"]] = 1
    cost = np.zeros(ends[-1])
    cost[at["down"]] = cost[at["up"]] = 1.0
    result = milp(
        cost,
        integrality=whole,
        bounds=(bottom, top),
        constraints=LinearConstraint(np.vstack(rows), low, high),
    )
    return result.fun if result.status == 0 else None
