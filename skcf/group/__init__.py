"""Explainers of groups: rows that are explained together, by all allocation rules."""

from skcf.group._sparse_one_for_many import SparseOneForManyExplainer

__all__ = ["SparseOneForManyExplainer"]
