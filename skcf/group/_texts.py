"""Shared changes in words: who they are for, and what is to be set to what."""

import numpy as np


def native(space, column, code):
    """Return the value of a column that a code stands for, as plain Python."""
    known = space.columns[column]
    stored = known.write(space.container, np.array([code]), known.dtype, known.type)
    at, values = space.container.factorize(stored)
    return values[at[0]] if at[0] >= 0 else None


def change_of(problem, menu, change):
    """Return what a shared change sets, as a dict of column name to value."""
    space, told = problem.space, {}
    for g, value in enumerate(change):
        if value >= 0:
            codes = menu.codes[g][value]
            for j, code in zip(space.groups[g], codes, strict=True):
                told[space.names[j]] = native(space, j, code)
    return told


def rule_text(condition, change, n_rows, cost):
    """Return one line: if ... then change ... to ..."""
    first = "for all rows" if not condition else "if " + " and ".join(condition)
    then = ", ".join(f"{name} to {value!r}" for name, value in change.items())
    rows = "1 row" if n_rows == 1 else f"{n_rows} rows"
    return f"{first}: change {then} (covers {rows}, mean cost {cost:.3g})"


def telling_features(pattern, rows):
    """Return few features whose shared values tell some rows from all others.

    They are chosen greedily, the one that excludes most of the others first. Where the
    shared values do not exclude all others, as many are as it takes to exclude most.
    """
    same = (pattern[rows] == pattern[rows[0]]).all(axis=0)
    others = np.delete(np.arange(len(pattern)), rows)
    apart = (pattern[others] != pattern[rows[0]]) & same
    left, chosen = np.ones(len(others), dtype=bool), []
    while left.any():
        count = apart[left].sum(axis=0)
        if not count.any():
            break
        chosen.append(int(count.argmax()))
        left &= ~apart[:, chosen[-1]]
    return sorted(chosen)
