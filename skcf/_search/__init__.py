"""The searches: one problem, proposers, and finishers that all of them share."""

from skcf._search._combine import play_first, play_greedily, play_samples
from skcf._search._deck import Deck
from skcf._search._descent import tune
from skcf._search._diversity import distinct, diverse, fill, further, spread_columns
from skcf._search._edits import Edits, edits_of
from skcf._search._finish import finish, minimal, shrink
from skcf._search._genetic import GeneticSearch
from skcf._search._policy import Policy, descend, reinforce
from skcf._search._problem import Pool, Problem, rank_in_row

__all__ = [
    "Deck",
    "Edits",
    "GeneticSearch",
    "Policy",
    "Pool",
    "Problem",
    "descend",
    "distinct",
    "diverse",
    "edits_of",
    "fill",
    "finish",
    "further",
    "minimal",
    "play_first",
    "play_greedily",
    "play_samples",
    "rank_in_row",
    "reinforce",
    "shrink",
    "spread_columns",
    "tune",
]
