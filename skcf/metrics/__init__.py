"""How good counterfactuals are, and which explainer makes the best ones."""

from skcf._measures import (
    diversity,
    plausibility,
    proximity,
    redundancy,
    sparsity,
    validity,
    violations,
)
from skcf.metrics._compare import compare
from skcf.metrics._coverage import coverage
from skcf.metrics._importance import compare_importance, feature_importance
from skcf.metrics._recourse import recourse_by_group
from skcf.metrics._refit_stability import refit_stability
from skcf.metrics._scorer import counterfactual_scorer, get_scorer, get_scorer_names
from skcf.metrics._stability import stability

__all__ = [
    "compare",
    "compare_importance",
    "counterfactual_scorer",
    "coverage",
    "diversity",
    "feature_importance",
    "get_scorer",
    "get_scorer_names",
    "plausibility",
    "proximity",
    "recourse_by_group",
    "redundancy",
    "refit_stability",
    "sparsity",
    "stability",
    "validity",
    "violations",
]
