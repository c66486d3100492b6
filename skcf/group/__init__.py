"""Explainers of groups: rows that are explained together, by all allocation rules."""

from skcf.group._many_for_one import ManyForOneExplainer
from skcf.group._one_for_all import OneForAllExplainer
from skcf.group._one_for_many import OneForManyExplainer
from skcf.group._one_for_one import OneForOneExplainer
from skcf.group._sparse_one_for_many import SparseOneForManyExplainer

__all__ = [
    "ManyForOneExplainer",
    "OneForAllExplainer",
    "OneForManyExplainer",
    "OneForOneExplainer",
    "SparseOneForManyExplainer",
]
