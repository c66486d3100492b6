"""What every value of every group adds to the first layer of a model."""

import numpy as np
from scipy import sparse

from skcf._mip._pieces import pieces_of

# A number that is not encoded by a straight line is listed value by value.
MAX_LISTED = 5_000
STRAIGHT = 1e-9
CHUNK = 512


class Inputs:
    """The sums of a layer over encoded columns, taken apart by group.

    Parameters
    ----------
    encoding : Encoding
    weight : ndarray of shape (n_encoded, n_sums)
    bias : ndarray of shape (n_sums,)
    rules : RuleSet
    """

    def __init__(self, encoding, weight, bias, rules):
        self.rules, self.space = rules, rules.space
        self.encoding, self.weight, self.bias = encoding, weight, bias
        self._owned = [
            np.flatnonzero(self.encoding.group_of == g)
            for g in range(len(self.space.groups))
        ]
        self._base = np.empty(self.space.n_features)
        for g, members in enumerate(self.space.groups):
            self._base[list(members)] = self.space.values.table(g)[0]
        self._lines = [self._line(g) for g in range(len(self.space.groups))]
        # What observed values add, where that is no line.
        self._known = [
            self.added(g, self.space.values.table(g)) if line is None else None
            for g, line in enumerate(self._lines)
        ]

    def encode(self, codes):
        """Return the encoded rows of codes."""
        return self.encode_table(self.space.decode(codes))

    def encode_table(self, table):
        """Return the encoded rows of a table, dense."""
        rows = self.encoding.transform(table)
        rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        return rows.astype(np.float64)

    def added(self, g, codes):
        """Return what rows of codes of a group add, of shape (n, n_sums)."""
        owned = self._owned[g]
        out = np.zeros((len(codes), self.weight.shape[1]))
        if not len(owned):
            return out
        # Encoded rows may be wide: a column for each of thousands of categories.
        for begin in range(0, len(codes), CHUNK):
            some = codes[begin : begin + CHUNK]
            rows = np.tile(self._base, (len(some), 1))
            rows[:, list(self.space.groups[g])] = some
            cells = self.encode(rows)[:, owned]
            out[begin : begin + CHUNK] = cells @ self.weight[owned]
        return out

    def _line(self, g):
        """Return (intercept, slope) of a number that is encoded by a straight line."""
        members = self.space.groups[g]
        j = members[0]
        if len(members) > 1 or not self.space.numeric[j]:
            return None
        if not len(self._owned[g]):
            zero = np.zeros(self.weight.shape[1])
            return zero, zero
        low, high = self.rules.low[j], self.rules.high[j]
        seen = self.space.columns[j].domain
        some = np.linspace(0, len(seen) - 1, min(len(seen), 256)).astype(np.intp)
        tried = np.concatenate([np.linspace(low, high, 17), seen[some]])
        tried = np.unique(tried[(tried >= low) & (tried <= high)])
        tried = np.unique(self.space.columns[j].snap(tried))
        owned = self._owned[g]
        rows = np.tile(self._base, (len(tried), 1))
        rows[:, j] = tried
        cells = self.encode(rows)[:, owned]
        width = tried[-1] - tried[0]
        slope = (cells[-1] - cells[0]) / width if width > 0 else 0.0 * cells[0]
        line = cells[0] + np.outer(tried - tried[0], slope)
        size = 1.0 + np.abs(cells).max()
        if np.abs(line - cells).max() > STRAIGHT * size:
            return None
        slope = slope @ self.weight[owned]
        return cells[0] @ self.weight[owned] - slope * tried[0], slope

    def straight(self, g):
        """Tell whether a group is a number that is encoded by a straight line."""
        return self._lines[g] is not None

    def pieces(self, x, lifted=-1):
        """Return the Pieces of every group; what has no line is listed."""
        out = []
        for g, members in enumerate(self.space.groups):
            pieces = pieces_of(self.rules, x, g, lifted)
            if self._lines[g] is None and pieces.interval.any():
                column = self.space.columns[members[0]]
                listed = pieces.points(column, MAX_LISTED)
                if listed is None:
                    raise ValueError(
                        f"Column {column.name!r} is not encoded by a straight line, "
                        "and it has too many values to try them all. Set a coarser "
                        f"resolution for it (at most {MAX_LISTED} numbers)."
                    )
                pieces = listed
            out.append(pieces)
        return out

    def own(self, row):
        """Return (constant, what each group adds) of an encoded query."""
        fixed = np.flatnonzero(self.encoding.group_of < 0)
        constant = self.bias + row[fixed] @ self.weight[fixed]
        return constant, [row[o] @ self.weight[o] for o in self._owned]

    def table(self, g, pieces, own):
        """Return (at the low ends, slope or None): what the pieces of a group add."""
        line = self._lines[g]
        if line is None:
            rest = np.arange(len(pieces)) != pieces.home
            out = np.tile(own, (len(pieces), 1))
            codes = pieces.low[rest]
            ids = self.space.values.find(g, codes)
            at = np.maximum(ids - self.space.values.offsets[g], 0)
            values = self._known[g][at]
            if (ids < 0).any():
                values[ids < 0] = self.added(g, codes[ids < 0])
            out[rest] = values
            return out, None
        intercept, slope = line
        codes = np.nan_to_num(pieces.low[:, 0])
        out = intercept + np.outer(codes, slope)
        if pieces.home >= 0:
            out[pieces.home] = own
        return out, slope

    def at(self, codes, pieces, tables, constant):
        """Return the sums at a row of codes in the pieces of a query.

        Parameters
        ----------
        codes : ndarray of shape (n_features,)
        pieces, tables : list of Pieces, list of what `table` returns, by group
        constant : ndarray of shape (n_sums,)
        """
        out = constant.copy()
        for p, (low, slope) in zip(pieces, tables, strict=True):
            own = codes[list(p.columns)]
            inside = (p.low <= own) & (own <= p.high)
            inside = (inside | (np.isnan(own) & np.isnan(p.low))).all(axis=1)
            if p.home >= 0 and inside[p.home]:
                out += low[p.home]
                continue
            k = int(inside.argmax())
            out += low[k]
            if slope is not None:
                out += (own[0] - p.low[k, 0]) * slope
        return out

    def bends(self, g, pieces, own):
        """Tell whether the query's own value is off the line of its column."""
        line = self._lines[g]
        if line is None or pieces.home < 0:
            return False
        code = pieces.low[pieces.home, 0]
        if np.isnan(code):
            return True
        gap = np.abs(line[0] + line[1] * code - own)
        return bool((gap > STRAIGHT * (1.0 + np.abs(own))).any())

    def sums(self, mip, groups, tables, constant, factors):
        """Return an expression of the sums weighted by `factors` (n_sums,)."""
        pairs, rest = [], float(constant @ factors)
        for group, (low, slope) in zip(groups, tables, strict=True):
            effect = low @ factors
            if group.free:
                pieces = group.pieces
                steep = float(slope @ factors)
                at_own = effect[pieces.home] - steep * pieces.low[pieces.home, 0]
                rest += float(at_own)
                pairs.append((group.number, steep))
                continue
            pairs += list(zip(group.choice, effect, strict=True))
            if slope is not None:
                pairs += group.reaches(float(slope @ factors))
        return mip.total(pairs, rest)
