"""Explainers of models of time series."""

from skcf.timeseries._channel_swap import ChannelSwapExplainer
from skcf.timeseries._nearest_unlike import NearestUnlikeSeriesExplainer
from skcf.timeseries._prototype import PrototypeExplainer

__all__ = [
    "ChannelSwapExplainer",
    "NearestUnlikeSeriesExplainer",
    "PrototypeExplainer",
]
