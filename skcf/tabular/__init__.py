"""Explainers of rows of a table."""

from skcf.tabular._geco import GeCoExplainer
from skcf.tabular._mace import MACEExplainer
from skcf.tabular._nearest_unlike import NearestUnlikeExplainer
from skcf.tabular._optimal import OptimalExplainer

__all__ = [
    "GeCoExplainer",
    "MACEExplainer",
    "NearestUnlikeExplainer",
    "OptimalExplainer",
]
