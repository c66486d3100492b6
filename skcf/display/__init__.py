"""Pictures of counterfactual explanations."""

from skcf.display._changes import ChangesDisplay
from skcf.display._frontier import FrontierDisplay
from skcf.display._group import GroupDisplay
from skcf.display._pareto import ParetoDisplay
from skcf.display._series import SeriesDisplay
from skcf.display._tradeoff import TradeoffDisplay

__all__ = [
    "ChangesDisplay",
    "FrontierDisplay",
    "GroupDisplay",
    "ParetoDisplay",
    "SeriesDisplay",
    "TradeoffDisplay",
]
