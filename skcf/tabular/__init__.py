"""Explainers of rows of a table."""

from skcf.tabular._geco import GeCoExplainer
from skcf.tabular._nearest_unlike import NearestUnlikeExplainer

__all__ = ["GeCoExplainer", "NearestUnlikeExplainer"]
