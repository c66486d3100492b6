"""Explainers of rows that are explained together."""

import numpy as np

from skcf._base._tabular import TabularExplainer


class GroupExplainer(TabularExplainer):
    """Base of the explainers of a group: the rows of a call are one problem.

    What a row gets depends on the rows it comes with, so a call is never taken apart,
    and a single rule is not tested for being in the way of a single row.
    """

    def _blocks(self, rows, n_jobs):
        return [rows]

    def _nothing(self, query):
        answers = super()._nothing(query)
        answers.by_row = {"assignment": np.full(len(query), -1)}
        answers.whole = self._empty()
        return answers

    def _empty(self):
        """Return what is told of a group without rows to explain."""
        return {}

    def _diagnose(self, query, missed, meter):
        return {}
