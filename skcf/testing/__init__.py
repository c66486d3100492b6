"""The contract of explainers, as checks that any explainer can run."""

from skcf.testing._check_explainer import check_explainer, explainer_checks

__all__ = ["check_explainer", "explainer_checks"]
