"""Explainers of groups: rows that are explained together, by all allocation rules."""

from skcf.group._one_for_all import OneForAllExplainer
from skcf.group._one_for_many import OneForManyExplainer
from skcf.group._sparse_one_for_many import SparseOneForManyExplainer

__all__ = ["OneForAllExplainer", "OneForManyExplainer", "SparseOneForManyExplainer"]
