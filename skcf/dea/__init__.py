"""Data envelopment analysis: efficiencies, and the least costly way to better ones."""

from skcf.dea._efficiency import DEA
from skcf.dea._targets import DEATargetExplainer

__all__ = ["DEA", "DEATargetExplainer"]
