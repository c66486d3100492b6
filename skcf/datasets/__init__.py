"""Tables to try explainers on: made ones with a known nearest answer, and real ones."""

from skcf.datasets._adult import fetch_adult
from skcf.datasets._boxes import make_boxes
from skcf.datasets._german_credit import fetch_german_credit
from skcf.datasets._halfspace import make_halfspace
from skcf.datasets._scorecard import make_scorecard

__all__ = [
    "fetch_adult",
    "fetch_german_credit",
    "make_boxes",
    "make_halfspace",
    "make_scorecard",
]
