"""The units in which differences of a numeric column are measured."""

import numpy as np

SCALES = ("range", "std", "mad", "iqr", "median", "mean", "none")
_USABLE = np.finfo(float).tiny, np.inf


def scales_of(known):
    """Return every scale of some numbers; a scale of 0 falls through a chain.

    median (of the absolute values), then median absolute deviation, then
    interquartile range, then range, then 1.
    """
    if not len(known):
        return dict.fromkeys(SCALES, 1.0)
    # Numbers near the largest float overflow; their scale falls through the chain too.
    with np.errstate(over="ignore", invalid="ignore"):
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
    out = {}
    for name, value in scales.items():
        tried = [value, *chain[begin.get(name, 3) :]]
        out[name] = float(next(s for s in tried if _USABLE[0] < s < _USABLE[1]))
    return out
