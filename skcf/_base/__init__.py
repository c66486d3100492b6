"""The base classes of all explainers: the contract, in one place."""

from skcf._base._answers import Answers, Query
from skcf._base._explainer import BaseExplainer
from skcf._base._group import GroupExplainer
from skcf._base._model_explainer import ModelExplainer
from skcf._base._series import SeriesExplainer
from skcf._base._tabular import TabularExplainer

__all__ = [
    "Answers",
    "BaseExplainer",
    "GroupExplainer",
    "ModelExplainer",
    "Query",
    "SeriesExplainer",
    "TabularExplainer",
]
