"""Cell values as plain Python, and as text for people to read."""

import datetime
import decimal
import math
import numbers
from collections.abc import Mapping, Set

import narwhals.stable.v2 as nw
import numpy as np


def is_missing(value):
    """Tell whether a scalar is None, NaN, NaT or NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def is_number(value):
    """Tell whether an unboxed value is a finite number; a boolean is not one."""
    return (
        isinstance(value, numbers.Real)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def unboxed(value):
    """Return a cell as Python holds it: no NumPy scalar, None where missing."""
    if is_missing(value):
        return None
    if not isinstance(value, np.generic):
        return value
    item = value.item()
    if value.dtype.kind in "mM" and isinstance(item, int):
        # The datetime module knows no unit finer than a microsecond.
        item = value.astype(f"{value.dtype.kind}8[us]").item()
    return item


def plain(value):
    """Convert to None, bool, int, float, str, list and dict, whatever comes in.

    Missing scalars become None, dates their ISO text, frames a dict of columns,
    and objects that have no plain form their `str`.
    """
    if value is None or isinstance(value, (str, numbers.Number, np.generic)):
        return _plain_scalar(unboxed(value))
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value] if value.ndim else plain(value[()])
    frame = nw.from_native(value, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        names, width = frame.columns, frame.shape[1]
        return {str(names[j]): plain(frame[:, j].to_list()) for j in range(width)}
    if isinstance(frame, nw.Series):
        return plain(frame.to_list())
    return _plain_scalar(unboxed(value))


def _plain_scalar(value):
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, (numbers.Real, decimal.Decimal)):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def strict(value):
    """Replace the floats that JSON cannot write by None, in plain data."""
    if isinstance(value, dict):
        return {key: strict(item) for key, item in value.items()}
    if isinstance(value, list):
        return [strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def format_value(value, digits=6):
    """Write one cell: integers whole, floats to `digits` significant digits.

    The whole part of a number is always written out below 1e15, and trailing
    zeros never are.
    """
    value = unboxed(value)
    if value is None:
        return "missing"
    if isinstance(value, datetime.datetime):
        midnight = value.time() == datetime.time() and value.tzinfo is None
        return str(value.date()) if midnight else str(value)
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return str(value)
    if isinstance(value, numbers.Integral):
        return str(int(value))
    value = float(value)
    if not math.isfinite(value) or abs(value) >= 1e15:
        return f"{value:.{digits}g}"
    if value == int(value):
        return str(int(value))
    # Digits that tell one unit from the next are kept, whatever their number.
    return f"{value:.{max(digits, len(str(int(abs(value)))))}g}"


def format_pair(before, after):
    """Write two cells that differ, with as many digits as it takes to show how much."""
    for digits in (6, 9, 12, 15, 17):
        texts = format_value(before, digits), format_value(after, digits)
        if texts[0] != texts[1] and _shows_change(before, after, texts):
            return texts
    # What differs in type alone, such as the string "1" and the number 1.
    return texts if texts[0] != texts[1] else (repr(before), repr(after))


def _shows_change(before, after, texts):
    """Tell whether the change read from two texts is right to a twentieth."""
    if not (is_number(before) and is_number(after)):
        return True
    change = float(after) - float(before)
    return abs(float(texts[1]) - float(texts[0]) - change) <= 0.05 * abs(change)


def format_target(target):
    """Write a resolved target: a label, or the interval of a regressor."""
    if not (isinstance(target, (tuple, list)) and len(target) == 2):
        return format_value(target)
    low, high = (None if is_missing(bound) else bound for bound in target)
    if low is None or low == -math.inf:
        return f"at most {format_value(high)}"
    if high is None or high == math.inf:
        return f"at least {format_value(low)}"
    return f"{format_value(low)} to {format_value(high)}"


def format_label(label):
    """Write the index label of a query, which says little where it is a number."""
    text = format_value(label)
    return f"query {text}" if is_number(unboxed(label)) else text


def counted(number, singular, plural):
    """Write a number of things."""
    return f"{number} {singular if number == 1 else plural}"
