"""The searches: one problem, proposers, and finishers that all of them share."""

from skcf._search._combine import play_first, play_samples, rescued
from skcf._search._complete import complete
from skcf._search._deck import Deck
from skcf._search._diversity import (
    change_sets,
    dearer,
    distinct,
    diverse,
    further,
    spares,
)
from skcf._search._edits import edits_of
from skcf._search._evolution import evolve
from skcf._search._finish import finish, minimal, shrink
from skcf._search._genetic import GeneticSearch
from skcf._search._nearer import brought_nearer
from skcf._search._policy import Policy, descend, reinforce
from skcf._search._problem import Pool, Problem, rank_in_row
from skcf._search._spread_sets import choose_sets
from skcf._search._walks import (
    ends_of,
    starts_of,
    walk_greedily,
    walk_in_order,
    walk_randomly,
)

__all__ = [
    "Deck",
    "GeneticSearch",
    "Policy",
    "Pool",
    "Problem",
    "brought_nearer",
    "change_sets",
    "choose_sets",
    "complete",
    "dearer",
    "descend",
    "distinct",
    "diverse",
    "edits_of",
    "ends_of",
    "evolve",
    "finish",
    "further",
    "minimal",
    "play_first",
    "play_samples",
    "rank_in_row",
    "reinforce",
    "rescued",
    "shrink",
    "spares",
    "starts_of",
    "walk_greedily",
    "walk_in_order",
    "walk_randomly",
]
