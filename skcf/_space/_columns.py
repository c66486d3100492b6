"""One column of a table: its kind, its values, and how they are written as codes.

A code is a float64: the number itself, the rank of an ordered category, the position
of an unordered one, NaN for a missing value. Encoding and decoding are exact.
"""

from numbers import Real

import narwhals.stable.v2 as nw
import numpy as np

from skcf._space._scales import SCALES, scales_of

MAX_DECIMALS = 8
# How many values are proposed in a part of a declared range where none was observed.
N_BEYOND = 9
# The largest whole number below which float32 holds all of them.
MAX_SINGLE = 2**24


class NumericColumn:
    """Numbers on a grid of width `step` (None: any float of the column's type).

    Parameters
    ----------
    name : str or int
    dtype : native dtype
    type_ : narwhals dtype
    observed : ndarray of float64
    step : float, "observed" or None
        "observed" is the decimal grid that all observed values lie on, if any.
    ends : (low, high), default=(None, None)
        Declared bounds; they replace those of the observed values.
    missing : object
        How a missing value is written.
    """

    kind = "numeric"

    def __init__(
        self, name, dtype, type_, observed, *, step, ends=(None, None), missing=None
    ):
        self.name, self.dtype, self.type, self.missing = name, dtype, type_, missing
        self.single = isinstance(type_, nw.Float32)
        self._float = np.float32 if self.single else np.float64
        absent = np.isnan(observed)
        self.has_missing = bool(absent.any())
        known = observed[~absent] if self.has_missing else observed
        if np.isinf(known).any():
            raise ValueError(f"Column {name!r} contains infinity.")
        self.scales = scales_of(known)
        self.domain, self.counts = np.unique(known, return_counts=True)
        self._seen = tuple(self.domain[[0, -1]]) if len(known) else (0.0, 0.0)
        if type_.is_integer() and (step is None or step != "observed" and step % 1):
            step = 1.0  # no other number can be written
        found = step == "observed"
        self._set_step(observed_step(self.domain, self.single) if found else step)
        self._declared = ends != (None, None)
        self.low, self.high = self.ends(*ends)
        if not found and step is not None:
            self._move_to_grid()

    def _set_step(self, step):
        self.step = step
        power = None if step is None else -np.log10(step)
        decimal = power is not None and abs(power - round(power)) < 1e-9
        self._decimals = round(power) if decimal else None

    def _move_to_grid(self):
        """Replace observed values by the nearest ones of a grid that was asked for."""
        on_grid = self.snap(self.domain)
        inside = (on_grid >= self.domain[:1]) & (on_grid <= self.domain[-1:])
        if inside.any():
            self.domain, at = np.unique(on_grid[inside], return_inverse=True)
            self.counts = np.bincount(at, self.counts[inside]).astype(np.intp)

    def ends(self, low=None, high=None):
        """Return the range of proposals for bounds that are declared, or None."""
        seen = self._seen
        bottom = seen[0] if low is None else self.round(low)
        top = seen[-1] if high is None else self.round(high)
        # One declared end can lie beyond all that was observed.
        if high is None:
            top = max(top, bottom)
        elif low is None:
            bottom = min(top, bottom)
        return bottom, top

    def encode(self, container, stored, type_):
        """Return the codes of a column, of fit or of a query."""
        codes = numbers_of(self.name, container, stored, type_)
        if np.isinf(codes).any():
            raise ValueError(f"Column {self.name!r} contains infinity.")
        if self.type.is_integer() and type_ != self.type:
            low, high = _bounds(self.type)
            wrong = (codes != np.rint(codes)) | (codes < low) | (codes > high)
            wrong &= ~np.isnan(codes)
            if wrong.any():
                raise ValueError(
                    f"Column {self.name!r} holds {self.type} and cannot be "
                    f"{codes[wrong.argmax()]:.16g}."
                )
        return codes

    def proposals(self):
        """Return the values to propose, and how often each was observed.

        Where a declared range reaches beyond what was observed, these are some evenly
        spaced values more, which count as observed once.
        """
        if not self._declared:
            return self.domain, self.counts
        first, last = (self.domain[[0, -1]]) if len(self.domain) else (np.inf, self.low)
        below = np.linspace(self.low, max(self.low, min(first, self.high)), N_BEYOND)
        above = np.linspace(min(self.high, max(last, self.low)), self.high, N_BEYOND)
        more = self.snap(np.concatenate([below[below < first], above[above > last]]))
        more = more[(more >= self.low) & (more <= self.high)]
        values = np.concatenate([self.domain, more])
        counts = np.concatenate([self.counts, np.ones(len(more), dtype=np.intp)])
        values, at = np.unique(values, return_index=True)
        return values, counts[at]

    @property
    def whole(self):
        """Whether every value is an integer."""
        return self.step is not None and self.step == round(self.step)

    def round(self, number):
        """Return a number as the column's float type holds it."""
        return float(self._float(number))

    def snap(self, codes):
        """Round codes to the column's resolution and its float type."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self._decimals is not None:
                on_grid = np.round(codes, self._decimals)
            elif self.step is not None:
                on_grid = np.rint(codes / self.step) * self.step
            else:
                on_grid = codes
            # Next to the largest float there is no grid.
            codes = np.where(np.isfinite(on_grid), on_grid, codes)
            return codes.astype(self._float).astype(np.float64)

    def beside(self, codes):
        """Return the nearest possible values below, at and above each code."""
        middle = self.snap(codes)
        with np.errstate(over="ignore"):
            ends = self._float(-np.inf), self._float(np.inf)
            sides = [np.nextafter(middle.astype(self._float), end) for end in ends]
        below, above = (side.astype(np.float64) for side in sides)
        if self.step is not None:
            # A step can be too small to be seen next to a large number.
            below = np.minimum(below, self.snap(middle - self.step))
            above = np.maximum(above, self.snap(middle + self.step))
        return np.stack([below, middle, above], axis=-1)

    def write(self, container, codes, dtype, type_):
        """Write codes as a native column of `dtype`."""
        if type_.is_integer():
            low, high = _float_bounds(type_)
            codes = np.clip(np.rint(codes), low, high)
        if not isinstance(type_, nw.Object):
            return container.write(codes, dtype, self.missing)
        known, at = np.unique(codes, return_inverse=True)
        at = np.where(np.isnan(codes), np.nan, at)
        return container.write_levels(self.values(known), at, dtype, self.missing)

    def values(self, codes):
        """Return codes as Python numbers (None for missing)."""
        whole = self.whole
        return [
            None if c != c else int(c) if whole else float(c) for c in codes.tolist()
        ]

    @property
    def levels(self):
        """None: numbers are no levels."""

    def fits(self, container, dtype, type_):
        """Tell whether a dtype can hold every value that the column may take."""
        if isinstance(type_, (nw.Object, nw.Float64)):
            return True
        if isinstance(type_, nw.Float32):
            small = max(abs(self.low), abs(self.high)) <= MAX_SINGLE
            return self.single or (self.whole and small)
        if type_.is_integer() and self.whole:
            low, high = _bounds(type_)
            return bool(low <= self.low and self.high <= high)
        return False


class CategoricalColumn:
    """Categories, ordered or not, out of a list of `levels`."""

    step = 1.0
    whole = False

    def __init__(self, name, dtype, type_, levels, *, ordered=False, missing=None):
        self.name, self.dtype, self.type, self.missing = name, dtype, type_, missing
        self.kind = "ordinal" if ordered else "categorical"
        self.levels = list(levels)
        self.rank = {level: k for k, level in enumerate(self.levels)}
        self.low, self.high = 0.0, max(len(self.levels) - 1.0, 0.0)
        span = max(self.high, 1.0) if ordered else 1.0
        self.scales = dict.fromkeys(SCALES, span)

    def learn(self, codes):
        """Take note of which levels were observed, and how often."""
        known = codes[~np.isnan(codes)].astype(np.intp)
        self.has_missing = len(known) < len(codes)
        counts = np.bincount(known, minlength=1)
        seen = np.flatnonzero(counts)
        self.domain, self.counts = seen.astype(np.float64), counts[seen]

    def encode(self, container, stored, type_):
        """Return the codes of a column; an unknown level is an error."""
        at, known = container.factorize(stored)
        table = np.array([*(self.rank.get(v, -1) for v in known), np.nan])
        codes = table[at]
        if (codes < 0).any():
            strange = dict.fromkeys(at[codes < 0].tolist())
            wrong = [known[k] for k in strange]
            raise ValueError(
                f"Column {self.name!r} has values that are neither seen in fit nor "
                f"listed in its dtype: {first(wrong)}. Expected one of "
                f"{first(self.levels)}."
            )
        return codes

    def proposals(self):
        """Return the levels to propose, and how often each was observed."""
        return self.domain, self.counts

    def write(self, container, codes, dtype, type_):
        """Write codes as a native column of `dtype`."""
        if not self.levels:
            codes = np.full(len(codes), np.nan)
        return container.write_levels(self.levels, codes, dtype, self.missing)

    def values(self, codes):
        """Return codes as levels (None for missing)."""
        return [None if c != c else self.levels[int(c)] for c in codes.tolist()]

    def fits(self, container, dtype, type_):
        """Tell whether a dtype can hold every level."""
        listed = container.listed(dtype)
        if listed is not None:
            return set(self.levels) <= set(listed)
        if isinstance(type_, nw.Object):
            return True
        if isinstance(type_, (nw.String, nw.Categorical)):
            width = np.inf
            if isinstance(dtype, np.dtype):
                width = dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize
            return all(isinstance(v, str) and len(v) <= width for v in self.levels)
        if isinstance(type_, nw.Boolean):
            return all(isinstance(v, bool) for v in self.levels)
        if not all(is_real(v) or isinstance(v, bool) for v in self.levels):
            return False
        if type_.is_integer():
            low, high = _bounds(type_)
            return all(v == int(v) and low <= v <= high for v in self.levels)
        return isinstance(type_, nw.Float64)


class FixedColumn:
    """Values that are carried along and never changed, such as dates."""

    kind = "fixed"
    step = 1.0
    has_missing = True
    low, high = 0.0, 0.0
    levels = None

    def __init__(self, name, dtype, type_, first):
        self.name, self.dtype, self.type = name, dtype, type_
        self._first = first
        self.domain, self.counts = np.zeros(1), np.ones(1, dtype=np.intp)
        self.scales = dict.fromkeys(SCALES, 1.0)

    def encode(self, container, stored, type_):
        """Return zeros: the values themselves are never looked at."""
        return np.zeros(len(stored))

    def proposals(self):
        """Return the one code that there is."""
        return self.domain, self.counts

    def write(self, container, codes, dtype, type_):
        """Return the first value seen in fit, for want of a row to carry it from."""
        return container.gather(self._first, np.zeros(len(codes), dtype=np.intp))

    def fits(self, container, dtype, type_):
        """Tell whether the dtype can hold what the query holds: always."""
        return True


def numbers_of(name, container, stored, type_):
    """Return a column of numbers as float64, missing as NaN."""
    if type_.is_numeric() or isinstance(type_, nw.Boolean):
        return container.numbers(stored)
    at, known = container.factorize(stored)
    used = np.bincount(at[at >= 0], minlength=len(known)) > 0
    wrong = [v for v, u in zip(known, used, strict=True) if u and not is_real(v)]
    if wrong:
        raise ValueError(f"Column {name!r} is numeric; it cannot hold {first(wrong)}.")
    numbers = [float(v) if u else 0.0 for v, u in zip(known, used, strict=True)]
    return np.array([*numbers, np.nan])[at]


def observed_step(known, single):
    """Return the decimal grid that all values lie on, None if there is none."""
    if single:
        known = known.astype(np.float32)
    finest = 1.0 / np.finfo(known.dtype).eps
    largest = np.abs(known).max(initial=0.0)
    for decimals in range(MAX_DECIMALS + 1):
        if decimals and largest >= finest / 10.0**decimals:
            break  # finer than floats of this size: every one would be on the grid
        # A few values tell that most grids are too coarse.
        if all((np.round(v, decimals) == v).all() for v in (known[:100], known)):
            return 10.0**-decimals
    return None


def _bounds(type_):
    """Return the least and the greatest number of a narwhals integer dtype."""
    name = str(type_)
    bits = int(name.lstrip("UInt"))
    return (
        (0, 2**bits - 1)
        if name[0] == "U"
        else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )


def _float_bounds(type_):
    """Return the least and the greatest float that an integer dtype can hold."""
    low, high = _bounds(type_)
    return float(low), np.nextafter(high, 0) if float(high) > high else float(high)


def is_real(value):
    return isinstance(value, (Real, np.number)) and not isinstance(
        value, (bool, np.bool)
    )


def first(values):
    """Return the first five of some values as text."""
    return f"{', '.join(map(repr, values[:5]))}{' ...' if len(values) > 5 else ''}"
