"""What the rows of a group may change to, in numbers that they share."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Menu:
    """The values that rows have or may take, numbered by feature.

    A feature is a group of columns that change together, most often one column.

    Attributes
    ----------
    ids : list of ndarray of shape (n_values,)
        For each feature the numbers of its values in the problem, -1 for a value that
        was never observed and only some rows have.
    codes : list of ndarray of shape (n_values, n_columns)
    own : ndarray of shape (n_rows, n_features)
        Which value each row has.
    allowed : list of ndarray of bool of shape (n_rows, n_values)
        Which values rows may have in the end.
    must : ndarray of bool of shape (n_rows, n_features)
        Features of which a row may not keep its value.
    """

    ids: list
    codes: list
    own: np.ndarray
    allowed: list
    must: np.ndarray

    @classmethod
    def of(cls, problem, rows):
        """Return the menu of some queries of a problem."""
        n_features = len(problem.space.groups)
        parts = [_feature(problem, rows, g) for g in range(n_features)]
        ids, codes, own, allowed = map(list, zip(*parts, strict=True))
        return cls(ids, codes, np.column_stack(own), allowed, problem.ground.must[rows])

    def write(self, problem, rows, change):
        """Return codes of queries with the values of `change` put in, -1 for none."""
        out = problem.x[rows].copy()
        for g, value in enumerate(change):
            if value >= 0:
                out[:, list(problem.space.groups[g])] = self.codes[g][value]
        return out

    def costs(self, problem, rows, g):
        """Return the cost of each value of a feature as the only change of a row."""
        ids = self.ids[g]
        seen = np.flatnonzero(ids >= 0)
        out = np.zeros((len(rows), len(ids)))
        cost = problem.own_cost(
            np.repeat(rows, len(seen)), np.tile(ids[seen], len(rows))
        )
        out[:, seen] = cost.reshape(len(rows), len(seen))
        return out


def _feature(problem, rows, g):
    """Return (ids, codes, own, allowed) of one feature."""
    ground, values = problem.ground, problem.values
    members = list(problem.space.groups[g])
    who, listed = ground.sets[g].lists(rows)
    own_id = ground.own[rows, g]
    ids = np.unique(np.concatenate([listed, own_id[own_id >= 0]]))
    rep, _, code = values.cells(ids)
    codes = code.reshape(len(ids), len(members)) if len(rep) else code.reshape(0, 1)
    strange = np.flatnonzero(own_id < 0)
    theirs = np.ascontiguousarray(problem.x[rows[strange]][:, members] + 0.0)
    theirs[np.isnan(theirs)] = np.nan
    bits = theirs.view(np.dtype((np.void, theirs.dtype.itemsize * len(members))))
    _, first, back = np.unique(bits.ravel(), return_index=True, return_inverse=True)
    own = np.empty(len(rows), dtype=np.intp)
    own[own_id >= 0] = np.searchsorted(ids, own_id[own_id >= 0])
    own[strange] = len(ids) + back.ravel()
    allowed = np.zeros((len(rows), len(ids) + len(first)), dtype=bool)
    allowed[who, np.searchsorted(ids, listed)] = True
    allowed[np.arange(len(rows)), own] = ~ground.must[rows, g]
    codes = np.concatenate([codes.reshape(-1, len(members)), theirs[first]])
    return np.append(ids, np.full(len(first), -1)), codes, own, allowed
