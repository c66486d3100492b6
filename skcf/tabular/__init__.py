"""Explainers of rows of a table."""

from skcf.tabular._geco import GeCoExplainer

__all__ = ["GeCoExplainer"]
