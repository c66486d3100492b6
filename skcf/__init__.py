"""Counterfactual explanations as scikit-learn transformers."""

from skcf._explanation import STATUSES, Explanation
from skcf._show_versions import show_versions

__version__ = "0.1.0.dev0"

__all__ = ["STATUSES", "Explanation", "__version__", "show_versions"]
