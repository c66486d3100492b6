"""The searches: one problem, proposers, and finishers that all of them share."""

from skcf._search._finish import finish, minimal, shrink
from skcf._search._genetic import GeneticSearch
from skcf._search._problem import Pool, Problem, rank_in_row

__all__ = [
    "GeneticSearch",
    "Pool",
    "Problem",
    "finish",
    "minimal",
    "rank_in_row",
    "shrink",
]
