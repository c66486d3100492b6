"""Compiled: which values and leaves no cheap point in the target can have."""

import numpy as np

from skcf._jit import jit


@jit
def _obey_limits(rules, home, offsets, alive):
    """Kill what limits forbid; return (possible, changed)."""
    limit_mask, limit_k = rules[0], rules[1]
    changed = False
    for i in range(len(limit_k)):
        forced = 0
        for g in range(len(home)):
            if limit_mask[i, g] and (home[g] < 0 or not alive[home[g]]):
                forced += 1
        if forced > limit_k[i]:
            return False, changed
        if forced < limit_k[i]:
            continue
        for g in range(len(home)):
            if limit_mask[i, g] and home[g] >= 0 and alive[home[g]]:
                for a in range(offsets[g], offsets[g + 1]):
                    if alive[a] and a != home[g]:
                        alive[a] = False
                        changed = True
    return True, changed


@jit
def _obey_couplings(rules, offsets, alive):
    """Kill values that no combination allows; return whether any was killed."""
    _, _, first, groups, strides, starts, table = rules
    changed = False
    support = np.zeros(len(alive), np.bool_)
    for c in range(len(starts)):
        p, q = first[c], first[c + 1]
        size = 1
        for k in range(p, q):
            g = groups[k]
            size *= offsets[g + 1] - offsets[g]
        for i in range(size):
            if not table[starts[c] + i]:
                continue
            rest, ok = i, True
            for k in range(p, q):
                a = rest // strides[k]
                rest -= a * strides[k]
                if not alive[offsets[groups[k]] + a]:
                    ok = False
                    break
            if not ok:
                continue
            rest = i
            for k in range(p, q):
                a = rest // strides[k]
                rest -= a * strides[k]
                support[offsets[groups[k]] + a] = True
        for k in range(p, q):
            g = groups[k]
            for a in range(offsets[g], offsets[g + 1]):
                if alive[a] and not support[a]:
                    alive[a] = False
                    changed = True
                support[a] = False
    return changed


# -- what is too dear or falls short -------------------------------------------------


@jit
def tighten(leaves, offsets, base, need, prices, rules, home, cutoff, alive, live):
    """Kill values and leaves that no point below the cutoff can have; in place.

    Returns whether any point is left. `prices` is (cost, peak, linf).
    """
    n_groups = len(offsets) - 1
    cheapest = np.empty(n_groups)
    lowest = np.empty(n_groups)
    while True:
        possible, changed = _obey_limits(rules, home, offsets, alive)
        if not possible:
            return False
        if _obey_couplings(rules, offsets, alive):
            changed = True
        if not _kill_dear(offsets, prices, cutoff, alive, cheapest, lowest):
            return False
        if not _kill_leaves(
            leaves, offsets, base, need, prices, cutoff, alive, live, cheapest, lowest
        ):
            return False
        if _kill_unsupported(leaves, offsets, alive, live):
            changed = True
        if not changed:
            return True


@jit
def _kill_dear(offsets, prices, cutoff, alive, cheapest, lowest):
    """Kill values that are too dear with the cheapest of all other groups."""
    cost, peak, linf = prices
    total, top, second, of = 0.0, 0.0, 0.0, -1
    for g in range(len(cheapest)):
        cheapest[g] = np.inf
        lowest[g] = np.inf
        for a in range(offsets[g], offsets[g + 1]):
            if alive[a]:
                cheapest[g] = min(cheapest[g], cost[a])
                lowest[g] = min(lowest[g], peak[a])
        if cheapest[g] == np.inf:
            return False
        total += cheapest[g]
        if lowest[g] > top:
            top, second, of = lowest[g], top, g
        elif lowest[g] > second:
            second = lowest[g]
    for g in range(len(cheapest)):
        rest = second if g == of else top
        for a in range(offsets[g], offsets[g + 1]):
            if alive[a]:
                least = total - cheapest[g] + cost[a] + linf * max(rest, peak[a])
                if least > cutoff:
                    alive[a] = False
    for g in range(len(cheapest)):
        some = False
        for a in range(offsets[g], offsets[g + 1]):
            some = some or alive[a]
        if not some:
            return False
    return True


@jit
def _kill_leaves(
    leaves, offsets, base, need, prices, cutoff, alive, live, cheapest, lowest
):
    """Kill leaves that are out of reach, too dear, or that miss the target."""
    tree, weight, first, group, begin, mask = leaves
    cost, peak, linf = prices
    n_rows, n_leaves = len(base), len(tree)
    total, top = 0.0, 0.0
    for g in range(len(cheapest)):
        total += cheapest[g]
        top = max(top, lowest[g])
    reach = base.copy()
    best = np.empty(n_rows)
    k = 0
    while k < n_leaves:
        t, some = tree[k], False
        for r in range(n_rows):
            best[r] = -np.inf
        while k < n_leaves and tree[k] == t:
            if live[k]:
                least, highest = total, top
                for s in range(first[k], first[k + 1]):
                    g = group[s]
                    low, small = np.inf, np.inf
                    for a in range(offsets[g + 1] - offsets[g]):
                        v = offsets[g] + a
                        if mask[begin[s] + a] and alive[v]:
                            low = min(low, cost[v])
                            small = min(small, peak[v])
                    least += low - cheapest[g]
                    highest = max(highest, small)
                    if low == np.inf:
                        break
                if least == np.inf or least + linf * highest > cutoff:
                    live[k] = False
                else:
                    some = True
                    for r in range(n_rows):
                        best[r] = max(best[r], weight[k, r])
            k += 1
        if not some:
            return False
        for r in range(n_rows):
            reach[r] += best[r]
    for r in range(n_rows):
        if reach[r] < need[r]:
            return False
    _kill_short(leaves, need, reach, live)
    return True


@jit
def _kill_short(leaves, need, reach, live):
    """Kill leaves with which even the best of all other trees falls short."""
    tree, weight = leaves[0], leaves[1]
    n_rows, n_leaves = len(reach), len(tree)
    best = np.empty(n_rows)
    k = 0
    while k < n_leaves:
        t, end = tree[k], k
        for r in range(n_rows):
            best[r] = -np.inf
        while end < n_leaves and tree[end] == t:
            if live[end]:
                for r in range(n_rows):
                    best[r] = max(best[r], weight[end, r])
            end += 1
        for i in range(k, end):
            if live[i]:
                for r in range(n_rows):
                    slack = 1e-12 * (abs(reach[r]) + abs(need[r]))
                    if reach[r] - best[r] + weight[i, r] < need[r] - slack:
                        live[i] = False
        k = end


@jit
def _kill_unsupported(leaves, offsets, alive, live):
    """Kill values that are in no live leaf of some tree; return whether any was."""
    tree, _, first, group, begin, mask = leaves
    n_groups, n_leaves = len(offsets) - 1, len(tree)
    support = np.zeros(len(alive), np.bool_)
    count = np.zeros(n_groups, np.int64)
    changed = False
    k = 0
    while k < n_leaves:
        t, begun, n_live = tree[k], k, 0
        while k < n_leaves and tree[k] == t:
            if live[k]:
                n_live += 1
                for s in range(first[k], first[k + 1]):
                    g = group[s]
                    count[g] += 1
                    for a in range(offsets[g + 1] - offsets[g]):
                        if mask[begin[s] + a]:
                            support[offsets[g] + a] = True
            k += 1
        for i in range(begun, k):
            if not live[i]:
                continue
            for s in range(first[i], first[i + 1]):
                g = group[s]
                if count[g] == 0:
                    continue
                for a in range(offsets[g], offsets[g + 1]):
                    if count[g] == n_live and alive[a] and not support[a]:
                        alive[a] = False
                        changed = True
                    support[a] = False
                count[g] = 0
    return changed
