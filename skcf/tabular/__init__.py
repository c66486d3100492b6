"""Explainers of rows of a table."""

from skcf.tabular._blocking import blocking_rules
from skcf.tabular._certifai import CERTIFAIExplainer
from skcf.tabular._diverse import DiverseExplainer
from skcf.tabular._geco import GeCoExplainer
from skcf.tabular._greedy import GreedyExplainer
from skcf.tabular._mace import MACEExplainer
from skcf.tabular._nearest_unlike import NearestUnlikeExplainer
from skcf.tabular._optimal import OptimalExplainer
from skcf.tabular._shap_order import SHAPOrderExplainer
from skcf.tabular._simcf import SimCFExplainer

__all__ = [
    "CERTIFAIExplainer",
    "DiverseExplainer",
    "GeCoExplainer",
    "GreedyExplainer",
    "MACEExplainer",
    "NearestUnlikeExplainer",
    "OptimalExplainer",
    "SHAPOrderExplainer",
    "SimCFExplainer",
    "blocking_rules",
]
