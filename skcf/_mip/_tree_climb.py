"""Compiled local search: from a point to a cheap one in the target."""

from skcf._jit import jit
from skcf._mip._tree_kernels import n_broken, sweep


@jit
def price_of(prices, point):
    """Return the cost of a point."""
    cost, peak, linf = prices
    total, top = 0.0, 0.0
    for a in point:
        total += cost[a]
        top = max(top, peak[a])
    return total + linf * top


@jit
def _short(score, gain, a, need, scale):
    """Return by how much a point falls short of the rows after a change of value."""
    total = 0.0
    for r in range(len(need)):
        add = gain[a, r] if a >= 0 else 0.0
        total += max(0.0, need[r] - score[r] - add) / scale[r]
    return total


@jit
def repair(leaves, offsets, base, need, prices, rules, home, alive, point, scale, most):
    """Change values, the best gain for its cost first, until a point is in the target.

    Works in place; returns whether it got there with all rules kept.
    """
    for _ in range(most):
        score, gain = sweep(leaves, offsets, base, point)
        now = _short(score, gain, -1, need, scale)
        broken = n_broken(rules, home, offsets, point)
        if now <= 0.0 and broken == 0:
            return True
        paid = price_of(prices, point)
        best, best_g, best_a = 0.0, -1, -1
        for g in range(len(point)):
            held = point[g]
            for a in range(offsets[g], offsets[g + 1]):
                if a == held or not alive[a]:
                    continue
                won = now - _short(score, gain, a, need, scale)
                if broken == 0 and won <= 1e-12:
                    continue
                point[g] = a
                still = n_broken(rules, home, offsets, point)
                dear = price_of(prices, point) - paid
                point[g] = held
                if still > broken:
                    continue
                won += broken - still
                if won <= 1e-12:
                    continue
                ratio = won / max(dear, 1e-12)
                if ratio > best:
                    best, best_g, best_a = ratio, g, a
        if best_g < 0:
            return False
        point[best_g] = best_a
    return False


@jit
def cheapen(leaves, offsets, base, need, prices, rules, home, alive, point):
    """Take the change that saves most, again and again, and stay in the target."""
    while True:
        score, gain = sweep(leaves, offsets, base, point)
        paid = price_of(prices, point)
        best, best_g, best_a = 1e-13, -1, -1
        for g in range(len(point)):
            held = point[g]
            for a in range(offsets[g], offsets[g + 1]):
                if a == held or not alive[a]:
                    continue
                inside = True
                for r in range(len(need)):
                    if score[r] + gain[a, r] < need[r]:
                        inside = False
                        break
                if not inside:
                    continue
                point[g] = a
                saved = paid - price_of(prices, point)
                if saved > best and n_broken(rules, home, offsets, point) == 0:
                    best, best_g, best_a = saved, g, a
                point[g] = held
        if best_g < 0:
            return
        point[best_g] = best_a


@jit
def best_pair(
    offsets, prices, rules, home, need, score, gain, more, values, owner, point, limit
):
    """Return the cheapest two changes below a cost, (-1, -1) if there are none."""
    found, other, best = -1, -1, limit
    cost = prices[0]
    rest = 0.0
    for a in point:
        rest += cost[a]
    for i in range(len(values)):
        a = values[i]
        g = owner[i]
        held_g = point[g]
        for j in range(i):
            b = values[j]
            h = owner[j]
            if (
                g == h
                or rest - cost[held_g] + cost[a] + cost[b] - cost[point[h]] >= best
            ):
                continue
            inside = True
            for r in range(len(need)):
                if score[r] + gain[a, r] + gain[b, r] + more[i, j, r] < need[r]:
                    inside = False
                    break
            if not inside:
                continue
            held_h = point[h]
            point[g], point[h] = a, b
            paid = price_of(prices, point)
            if paid < best and n_broken(rules, home, offsets, point) == 0:
                best, found, other = paid, a, b
            point[g], point[h] = held_g, held_h
    return found, other
