"""One column of a table: its kind, its values, and how they are written as codes.

A code is a float64: the number itself, the rank of an ordered category, the position
of an unordered one, NaN for a missing value. Encoding and decoding are exact.
"""

import numbers

import numpy as np

MAX_DECIMALS = 8


class NumericColumn:
    """Numbers on a grid of width `step` (None: any float of the column's type)."""

    kind = "numeric"

    def __init__(self, name, dtype, observed, *, step, null=False):
        self.name = name
        self.dtype = dtype
        self.step = step
        self.null = null
        self.single = _dtype_kind(dtype) == "float32"
        power = None if step is None else -np.log10(step)
        decimal = power is not None and abs(power - round(power)) < 1e-9
        self._decimals = round(power) if decimal else None
        self.has_missing = bool(np.isnan(observed).any())
        known = observed[~np.isnan(observed)]
        self.domain, self.counts = np.unique(known, return_counts=True)
        if not len(self.domain):
            self.domain, self.counts = np.zeros(1), np.ones(1, dtype=np.intp)
        self.low, self.high = self.domain[0], self.domain[-1]
        self.scales = _scales(known)

    def encode(self, container, column):
        """Return the codes of a column, of fit or of a query."""
        try:
            codes = container.numbers(column)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Column {self.name!r} is numeric; it cannot hold {error}"
            ) from error
        if np.isinf(codes).any():
            raise ValueError(f"Column {self.name!r} contains infinity.")
        return codes

    @property
    def whole(self):
        """Whether every value is an integer."""
        return self.step is not None and self.step == round(self.step)

    def snap(self, codes):
        """Round codes to the column's resolution and its float type."""
        if self._decimals is not None:
            codes = np.round(codes, self._decimals)
        elif self.step is not None:
            codes = np.rint(codes / self.step) * self.step
        return codes.astype(np.float32).astype(np.float64) if self.single else codes

    def write(self, container, codes, dtype):
        """Write codes as a native column of `dtype`."""
        if _dtype_kind(dtype) == "object":
            known, at = np.unique(codes, return_inverse=True)
            at = np.where(np.isnan(codes), np.nan, at)
            return container.write_levels(self.values(known), at, dtype)
        return container.write(codes, dtype, self.null)

    def values(self, codes):
        """Return codes as Python numbers (None for missing)."""
        whole = self.whole
        return [
            None if c != c else int(c) if whole else float(c) for c in codes.tolist()
        ]

    def fits(self, dtype):
        """Tell whether a dtype can hold every value that the column may take."""
        kind = _dtype_kind(dtype)
        if kind in {"object", "float64"}:
            return True
        if kind in {"float32", "float16"}:
            short = self.domain.astype(kind).astype(np.float64)
            return self.whole and bool((short == self.domain).all())
        if kind.startswith(("int", "uint")) and self.whole:
            info = np.iinfo(kind)
            return bool(info.min <= self.low and self.high <= info.max)
        return False


class CategoricalColumn:
    """Categories, ordered or not, out of a list of `levels`."""

    def __init__(self, name, dtype, levels, observed, *, ordered=False):
        self.name = name
        self.dtype = dtype
        self.kind = "ordinal" if ordered else "categorical"
        self.levels = list(levels)
        self.rank = {level: k for k, level in enumerate(self.levels)}
        self.step = 1.0
        self.has_missing = bool(np.isnan(observed).any())
        known = observed[~np.isnan(observed)]
        self.domain, self.counts = np.unique(known, return_counts=True)
        if not len(self.domain):
            self.domain, self.counts = np.zeros(1), np.ones(1, dtype=np.intp)
        self.low, self.high = 0.0, max(len(self.levels) - 1.0, 0.0)
        span = max(self.high, 1.0) if ordered else 1.0
        self.scales = dict.fromkeys(SCALES, span)

    def encode(self, container, column):
        """Return the codes of a column; an unknown level is an error."""
        return encode_levels(
            container, column, self.rank, self.name, self.levels
        )

    def snap(self, codes):
        """Return the codes: every one stands for a level."""
        return codes

    def write(self, container, codes, dtype):
        """Write codes as a native column of `dtype`."""
        return container.write_levels(self.levels, codes, dtype)

    def values(self, codes):
        """Return codes as levels (None for missing)."""
        return [None if c != c else self.levels[int(c)] for c in codes.tolist()]

    def fits(self, dtype):
        """Tell whether a dtype can hold every level."""
        if hasattr(dtype, "categories"):
            return set(self.levels) <= set(dtype.categories)
        kind = _dtype_kind(dtype)
        if kind in {"object", "categorical"}:
            return True
        types = {
            "bool": bool,
            "str": str,
            "float64": numbers.Real,
            "int64": numbers.Integral,
        }
        wanted = types.get(kind)
        return wanted is not None and all(isinstance(v, wanted) for v in self.levels)


class FixedColumn:
    """Values that are carried along and never changed, such as dates."""

    kind = "fixed"
    step = 1.0
    has_missing = True
    low, high = 0.0, 0.0

    def __init__(self, name, dtype):
        self.name = name
        self.dtype = dtype
        self.domain, self.counts = np.zeros(1), np.ones(1, dtype=np.intp)
        self.scales = dict.fromkeys(SCALES, 1.0)

    def encode(self, container, column):
        """Return zeros: the values themselves are never looked at."""
        return np.zeros(len(column))

    def fits(self, dtype):
        """Tell whether the dtype can hold what the query holds: always."""
        return True


SCALES = ("range", "std", "mad", "iqr", "median", "mean", "none")


def _scales(known):
    """Return every scale of a numeric column; a scale of 0 falls through a chain.

    median (of the absolute values), then median absolute deviation, then
    interquartile range, then range, then 1.
    """
    if not len(known):
        return dict.fromkeys(SCALES, 1.0)
    low, q1, middle, q3, high = np.quantile(known, [0, 0.25, 0.5, 0.75, 1])
    scales = {
        "median": np.median(np.abs(known)),
        "mad": np.median(np.abs(known - middle)),
        "iqr": q3 - q1,
        "range": high - low,
        "std": known.std(),
        "mean": np.abs(known).mean(),
        "none": 1.0,
    }
    chain = [scales[name] for name in ("median", "mad", "iqr", "range")] + [1.0]
    begin = {"median": 0, "mad": 1, "iqr": 2}
    tiny = np.finfo(float).tiny
    return {
        name: float(value)
        if value > tiny
        else float(next(s for s in chain[begin.get(name, 3) :] if s > tiny))
        for name, value in scales.items()
    }


def observed_step(observed, single):
    """Return the decimal grid that all values lie on, None if there is none."""
    known = observed[~np.isnan(observed)]
    if single:
        known = known.astype(np.float32)
    for decimals in range(MAX_DECIMALS + 1):
        if (np.round(known, decimals) == known).all():
            return 10.0**-decimals
    return None


def encode_levels(container, column, rank, name, levels):
    """Return the positions of a column's values in `levels`."""
    missing = container.missing(column)
    values = container.values(column)
    out = np.full(len(values), np.nan)
    unknown = []
    for i, value in enumerate(values):
        if missing[i]:
            continue
        try:
            out[i] = rank[value]
        except (KeyError, TypeError):
            unknown.append(value)
    if unknown:
        shown = ", ".join(repr(v) for v in list(dict.fromkeys(map(_plain, unknown)))[:5])
        raise ValueError(
            f"Column {name!r} has values that are neither seen in fit nor listed "
            f"in its dtype: {shown}. Expected one of {levels[:5]}"
            f"{' ...' if len(levels) > 5 else ''}."
        )
    return out


def _plain(value):
    return value if value.__hash__ else repr(value)


def _dtype_kind(dtype):
    """Return one spelling for the dtypes of numpy, pandas and polars."""
    text = str(dtype).lower().split("(")[0].removesuffix("[pyarrow]")
    if isinstance(dtype, np.dtype) and dtype.kind in "US":
        return "str"
    return {
        "boolean": "bool",
        "string": "str",
        "large_string": "str",
        "double": "float64",
        "float": "float32",
    }.get(text, text)
