"""Several measures of the same pairs at once, by name."""

from collections.abc import Mapping

import numpy as np

from skcf._measures._diversity import spread
from skcf._measures._judge import Judge
from skcf._measures._plausibility import N_NEIGHBORS, nearest
from skcf._measures._redundancy import redundant_share
from skcf._measures._ruler import Ruler
from skcf._measures._violations import broken_rules

NEEDS = {
    "gower": ("reference",),
    "mace": ("reference",),
    "geco": ("reference",),
    "plausibility": ("reference",),
    "violations": ("constraints", "reference"),
    "validity": ("estimator",),
    "redundancy": ("estimator",),
    "diversity": (),
}


def evaluate_pairs(X, X_cf, row, target, metrics, given):
    """Return the measures of each pair by name.

    Parameters
    ----------
    X, X_cf : tables of shape (n_pairs, n_features)
    row : ndarray of shape (n_pairs,)
    target : ndarray of object of shape (n_pairs,)
    metrics : None, list of str, or mapping of str to callable
        The names in `NEEDS`, or functions of (X, X_cf) that return (n_pairs,) values.
        None stands for all names of which what they need is given.
    given : dict
        `reference`, `estimator`, `constraints` and `categorical_features`.
    """
    if isinstance(metrics, Mapping):
        return {name: _called(name, f, X, X_cf) for name, f in metrics.items()}
    names = _names(metrics, given)
    if not len(row) or not names:
        return {name: np.empty(0) for name in names}
    return _Pairs(X, X_cf, row, target, given).measure(names)


class _Pairs:
    """Pairs with all that their measures are made of, read once."""

    def __init__(self, X, X_cf, row, target, given):
        self.X, self.X_cf, self.row = X, X_cf, row
        reference, constraints = given["reference"], given["constraints"]
        self.ruler = Ruler.of(
            X if reference is None else reference,
            constraints,
            given["categorical_features"],
        )
        self.codes = self.ruler.read(X, X_cf)
        self.reference = reference
        if given["estimator"] is not None:
            self.judge = Judge(given["estimator"], X, target.tolist())

    def measure(self, names):
        return {name: getattr(self, f"_{name}")() for name in names}

    def _gower(self):
        return self.ruler.cost("gower").rows(*self.codes)

    def _mace(self):
        return self.ruler.cost("mace").rows(*self.codes)

    def _geco(self):
        return self.ruler.cost("geco").rows(*self.codes)

    def _plausibility(self):
        known = self.ruler.read_one(self.reference, "reference")
        return nearest(self.ruler, self.codes[1], known, N_NEIGHBORS["knn"])

    def _violations(self):
        return broken_rules(self.ruler, *self.codes).sum(axis=1)

    def _validity(self):
        return self.judge.reached(self.X_cf, np.arange(len(self.row)))

    def _redundancy(self):
        reached = self.judge.reached
        return redundant_share(self.ruler, self.X, self.X_cf, self.codes, reached)

    def _diversity(self):
        return spread(self.ruler, *self.codes, self.row)


def _names(metrics, given):
    """Return the names of the measures to take, checked."""
    has = {name for name, value in given.items() if value is not None}
    if not given["constraints"]:
        has.discard("constraints")
    if metrics is None:
        return [name for name, needs in NEEDS.items() if has.issuperset(needs)]
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    for name in names:
        if name not in NEEDS:
            raise ValueError(
                f"There is no metric {name!r}; expected names out of {list(NEEDS)}, or "
                "a mapping of names to functions."
            )
        missing = [need for need in NEEDS[name] if need not in has]
        if missing:
            raise ValueError(f"The metric {name!r} needs {' and '.join(missing)}.")
    return names


def _called(name, function, X, X_cf):
    """Return the values of a function of pairs, checked to be one for each."""
    values = np.asarray(function(X, X_cf))
    if values.shape != (len(X),):
        raise ValueError(
            f"The metric {name!r} must return one value for each of the {len(X)} pairs "
            f"(sample_wise=True), got an array of shape {values.shape}."
        )
    return values
