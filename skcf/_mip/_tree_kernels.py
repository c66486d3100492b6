"""Compiled loops over the leaves of an ensemble."""

import numpy as np

from skcf._jit import jit


@jit
def score_points(leaves, offsets, base, points):
    """Return the score rows of points, (n_points, n_rows)."""
    _, weight, first, group, begin, mask = leaves
    out = np.empty((len(points), len(base)))
    for i in range(len(points)):
        out[i] = base
        for k in range(len(weight)):
            inside = True
            for s in range(first[k], first[k + 1]):
                g = group[s]
                if not mask[begin[s] + points[i, g] - offsets[g]]:
                    inside = False
                    break
            if inside:
                for r in range(len(base)):
                    out[i, r] += weight[k, r]
    return out


@jit
def sweep(leaves, offsets, base, point):
    """Return the scores of a point, and what each single change of value adds."""
    _, weight, first, group, begin, mask = leaves
    n_rows = len(base)
    score = base.copy()
    gain = np.zeros((offsets[-1], n_rows))
    for k in range(len(weight)):
        n_missed, miss = 0, -1
        for s in range(first[k], first[k + 1]):
            g = group[s]
            if not mask[begin[s] + point[g] - offsets[g]]:
                n_missed += 1
                miss = s
                if n_missed > 1:
                    break
        if n_missed == 0:
            for r in range(n_rows):
                score[r] += weight[k, r]
            for s in range(first[k], first[k + 1]):
                g = group[s]
                for a in range(offsets[g + 1] - offsets[g]):
                    if not mask[begin[s] + a]:
                        for r in range(n_rows):
                            gain[offsets[g] + a, r] -= weight[k, r]
        elif n_missed == 1:
            g = group[miss]
            for a in range(offsets[g + 1] - offsets[g]):
                if mask[begin[miss] + a]:
                    for r in range(n_rows):
                        gain[offsets[g] + a, r] += weight[k, r]
    return score, gain


@jit
def pair_gains(leaves, offsets, base, point, place, n):
    """Return what two changes of value add beyond the sum of each alone.

    `place` is the position of a value among the `n` that are looked at, -1 for others.
    """
    _, weight, first, group, begin, mask = leaves
    n_rows = len(base)
    out = np.zeros((n, n, n_rows))
    for k in range(len(weight)):
        n_missed, m1, m2 = 0, -1, -1
        for s in range(first[k], first[k + 1]):
            g = group[s]
            if not mask[begin[s] + point[g] - offsets[g]]:
                n_missed += 1
                if n_missed == 1:
                    m1 = s
                elif n_missed == 2:
                    m2 = s
                else:
                    break
        if n_missed > 2:
            continue
        for s in range(first[k], first[k + 1]):
            for z in range(s + 1, first[k + 1]):
                covered = 0
                if m1 == s or m1 == z:
                    covered += 1
                if m2 == s or m2 == z:
                    covered += 1
                if covered < n_missed:
                    continue
                g, h = group[s], group[z]
                in_g = mask[begin[s] + point[g] - offsets[g]]
                in_h = mask[begin[z] + point[h] - offsets[h]]
                for a in range(offsets[g + 1] - offsets[g]):
                    i = place[offsets[g] + a]
                    if i < 0 or mask[begin[s] + a] == in_g:
                        continue
                    for b in range(offsets[h + 1] - offsets[h]):
                        j = place[offsets[h] + b]
                        if j < 0 or mask[begin[z] + b] == in_h:
                            continue
                        sign = 1.0 if in_g == in_h else -1.0
                        for r in range(n_rows):
                            out[i, j, r] += sign * weight[k, r]
                            out[j, i, r] += sign * weight[k, r]
    return out


# -- rules between groups ------------------------------------------------------------


@jit
def n_broken(rules, home, offsets, point):
    """Return by how much a point breaks limits and couplings, 0 if it keeps them."""
    limit_mask, limit_k, first, groups, strides, starts, table = rules
    out = 0
    for i in range(len(limit_k)):
        count = 0
        for g in range(len(point)):
            if limit_mask[i, g] and point[g] != home[g]:
                count += 1
        if count > limit_k[i]:
            out += count - limit_k[i]
    for c in range(len(starts)):
        at = starts[c]
        for p in range(first[c], first[c + 1]):
            g = groups[p]
            at += strides[p] * (point[g] - offsets[g])
        if not table[at]:
            out += 1
    return out


# -- the dual bound ------------------------------------------------------------------


@jit
def bound(leaves, offsets, side_price, price, pairs, rho, alive, live):
    """Return (sum of tree minima, minimum of each tree and value of each leaf).

    A tree pays for the values that it sees: ``price[side_price[s] + a]`` for value
    ``a`` of the group of side ``s``. `pairs` is (first of each tree, group, price
    begin) of all groups that a tree sees.
    """
    tree, weight, first, group, begin, mask = leaves
    pair_first, pair_group, pair_begin = pairs
    n_trees = len(pair_first) - 1
    lowest = np.full(n_trees, np.inf)
    value = np.full(len(tree), np.inf)
    least = np.zeros(len(offsets) - 1)
    total = 0.0
    k = 0
    for t in range(n_trees):
        rest = 0.0
        for p in range(pair_first[t], pair_first[t + 1]):
            g = pair_group[p]
            low = np.inf
            for a in range(offsets[g + 1] - offsets[g]):
                if alive[offsets[g] + a]:
                    low = min(low, price[pair_begin[p] + a])
            least[g] = low
            rest += low
        while k < len(tree) and tree[k] == t:
            if live[k]:
                v = rest
                for r in range(len(rho)):
                    v -= rho[r] * weight[k, r]
                for s in range(first[k], first[k + 1]):
                    g = group[s]
                    low = np.inf
                    for a in range(offsets[g + 1] - offsets[g]):
                        if mask[begin[s] + a] and alive[offsets[g] + a]:
                            low = min(low, price[side_price[s] + a])
                    v += low - least[g]
                value[k] = v
                lowest[t] = min(lowest[t], v)
            k += 1
        total += lowest[t]
    return total, lowest, value


@jit
def fix(offsets, theta, lower, cutoff, lowest, value, tree, alive, live):
    """Kill what costs too much by its reduced cost; return whether anything was."""
    changed = False
    for g in range(len(offsets) - 1):
        low = np.inf
        for a in range(offsets[g], offsets[g + 1]):
            if alive[a]:
                low = min(low, theta[a])
        for a in range(offsets[g], offsets[g + 1]):
            # The bound holds the cheapest value of the group: take it out again.
            if alive[a] and lower - low + theta[a] > cutoff:
                alive[a] = False
                changed = True
    for k in range(len(tree)):
        if live[k] and lower - lowest[tree[k]] + value[k] > cutoff:
            live[k] = False
            changed = True
    return changed
