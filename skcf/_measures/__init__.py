"""Measures of pairs of a query and its counterfactual, public as skcf.metrics.

They stand below the explanation, which appends them to its rows.
"""

from skcf._measures._diversity import diversity
from skcf._measures._plausibility import plausibility
from skcf._measures._proximity import proximity
from skcf._measures._redundancy import redundancy
from skcf._measures._sparsity import sparsity
from skcf._measures._validity import validity
from skcf._measures._violations import violations

__all__ = [
    "diversity",
    "plausibility",
    "proximity",
    "redundancy",
    "sparsity",
    "validity",
    "violations",
]
