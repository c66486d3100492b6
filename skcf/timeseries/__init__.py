"""Explainers of models of time series."""

from skcf.timeseries._prototype import PrototypeExplainer

__all__ = ["PrototypeExplainer"]
