"""Counterfactual explanations as scikit-learn transformers."""

from skcf._explanation import STATUSES, Explanation

__version__ = "0.1.0.dev0"

__all__ = ["STATUSES", "Explanation", "__version__"]
