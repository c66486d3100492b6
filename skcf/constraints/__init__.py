"""Rules on what a counterfactual may be: objects and text, one language."""

from skcf.constraints._atoms import (
    change_within,
    decreasing,
    fixed,
    increasing,
    max_changes,
    one_hot,
    one_of,
    only,
    ordered,
    rule,
    together,
    within,
)
from skcf.constraints._rule import Rule

__all__ = [
    "Rule",
    "change_within",
    "decreasing",
    "fixed",
    "increasing",
    "max_changes",
    "one_hot",
    "one_of",
    "only",
    "ordered",
    "rule",
    "together",
    "within",
]
