"""Stretches of lists: entries that cost less than a limit, as compiled loops.

The numbers in a list are sorted: towards the query's own number they cost less and
less, beyond it more and more. Those below a limit are one stretch, of which the ends
are found by bisection. Categories cost all the same, and so do numbers where the
query's own is missing.
"""

import numpy as np

from skcf._jit import jit
from skcf._search._kernels import charge


@jit
def step_price(step, up, down, weight, norms):
    """Return what a number that is `step` units away costs as the only change."""
    d = abs(step)
    return charge(d, d * (up if step > 0 else down), weight, norms)


@jit
def place_of(n, run, start, counts):
    """Return the place in its group of the n-th value of a list, as `nth_of` does."""
    rank, begin, end = run
    at = counts[begin] + n
    if 0 <= rank <= n:
        at += 1
    low, high = begin, end - 1
    while low < high:
        middle = (low + high + 1) // 2
        if counts[middle] <= at:
            low = middle
        else:
            high = middle - 1
    return start[low] + at - counts[low]


@jit
def _stretch(limit, n, run, start, counts, codes, own, scale, norms):
    """Return (begin, turn, end) of the numbers in a list that cost less than a limit.

    Those before the turn are less than the query's own. The first `n` entries of the
    list are numbers.
    """
    unit, up, down, weight, _ = scale
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if codes[place_of(middle, run, start, counts)] < own:
            low = middle + 1
        else:
            high = middle
    turn, low = low, 0
    while low < high:
        middle = (low + high) // 2
        step = (codes[place_of(middle, run, start, counts)] - own) / unit
        if step_price(step, up, down, weight, norms) < limit:
            high = middle
        else:
            low = middle + 1
    begin, low, high = low, turn, n
    while low < high:
        middle = (low + high) // 2
        step = (codes[place_of(middle, run, start, counts)] - own) / unit
        if step_price(step, up, down, weight, norms) < limit:
            low = middle + 1
        else:
            high = middle
    return begin, turn, low


@jit
def column_of(first, size, cells):
    """Return the column of a group and the codes of its values, -1 for several."""
    _, ptr, col, code = cells
    begin = ptr[first]
    if ptr[first + 1] - begin > 1:
        return -1, code[:0]
    return col[begin], code[begin : begin + size]


@jit
def scale_of(j, g, ruler):
    """Return (unit, up, down, weight, categorical) of a group of one column."""
    (unit, up, down, categorical), weight, _ = ruler
    return unit[j], up[j], down[j], weight[g], categorical[j]


@jit
def span_of(limit, count, total, run, start, counts, codes, own, scale, norms):
    """Return (begin, turn, end, rest) for the list of one column of a query.

    Entries from `begin` to `end` cost less than the limit; those from `rest` on are
    still to be looked at.
    """
    weight, categorical = scale[3], scale[4]
    if categorical or own != own:
        end = total if step_price(1.0, 1.0, 1.0, weight, norms) < limit else 0
        return 0, end, end, total
    # A missing value comes last.
    if count and np.isnan(codes[place_of(count - 1, run, start, counts)]):
        count -= 1
    begin, turn, end = _stretch(
        limit, count, run, start, counts, codes, own, scale, norms
    )
    return begin, turn, end, count
