"""Nearest training rows."""

from skcf._index._binned import BinnedRows
from skcf._index._embed import CostPoints
from skcf._index._exact import TrainingRows
from skcf._index._kernel import costs
from skcf._index._points import NearestPoints, check_method

__all__ = [
    "BinnedRows",
    "CostPoints",
    "NearestPoints",
    "TrainingRows",
    "check_method",
    "costs",
]
