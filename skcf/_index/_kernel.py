"""The compiled loop over queries and rows that computes costs."""

import numpy as np

from skcf._jit import jit


def costs(cost, x, rows):
    """Return the cost from each query to each row, inf where it is no answer.

    It is none if it equals the query, or lacks a value that the query has.

    Parameters
    ----------
    cost : BoundCost
    x : ndarray of shape (n_queries, n_features)
    rows : ndarray of shape (n_rows, n_features)

    Returns
    -------
    costs : ndarray of shape (n_queries, n_rows)
    """
    c, m = cost.cost, cost.divisor
    out = np.empty((len(x), len(rows)))
    _costs(
        np.ascontiguousarray(x),
        np.ascontiguousarray(rows),
        cost.unit,
        cost.up,
        cost.down,
        cost.categorical,
        cost.group_of,
        cost.weight,
        np.array([c.l0 / m, c.l1 / m, c.l2 / m, c.linf]),
        out,
    )
    return out


@jit
def _costs(x, rows, unit, up, down, categorical, group_of, weight, norm, out):
    n_groups = len(weight)
    d, g = np.empty(n_groups), np.empty(n_groups)
    for i in range(len(x)):
        for r in range(len(rows)):
            d[:] = 0.0
            g[:] = 0.0
            changed, lacks = False, False
            for j in range(x.shape[1]):
                before, after = x[i, j], rows[r, j]
                if before == after:
                    continue
                if np.isnan(after):
                    if np.isnan(before):
                        continue
                    lacks = True
                    break
                changed = True
                if np.isnan(before):
                    one, price = 1.0, 1.0
                elif categorical[j]:
                    one, price = 1.0, 1.0
                else:
                    step = (after - before) / unit[j]
                    one = abs(step)
                    price = up[j] if step > 0 else down[j]
                k = group_of[j]
                d[k] = max(d[k], one)
                g[k] = max(g[k], one * price)
            if lacks or not changed:
                out[i, r] = np.inf
                continue
            few, one_norm, two_norm, most = 0.0, 0.0, 0.0, 0.0
            for k in range(n_groups):
                if d[k] > 0:
                    few += weight[k]
                    one_norm += weight[k] * g[k]
                    two_norm += weight[k] * g[k] ** 2
                    most = max(most, weight[k] * g[k])
            out[i, r] = (
                norm[0] * few + norm[1] * one_norm + norm[2] * two_norm + norm[3] * most
            )
