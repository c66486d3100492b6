"""The measures of an explanation by the explainer that gave it."""

import numpy as np
from sklearn.pipeline import Pipeline

from skcf._base import TabularExplainer
from skcf._explanation._cells import take
from skcf._measures._judge import Judge
from skcf._measures._redundancy import redundant_share
from skcf._measures._ruler import Ruler
from skcf._space import FeatureSpace
from skcf.constraints._rule import check_rules


def unwrap(explainer, *tables):
    """Return an explainer out of a search or a pipeline, and what reaches it of tables.

    None stays None.
    """
    while hasattr(explainer, "best_estimator_"):
        explainer = explainer.best_estimator_
    if isinstance(explainer, Pipeline):
        before = explainer[:-1]
        tables = [t if t is None else before.transform(t) for t in tables]
        explainer = explainer[-1]
    return explainer, *tables


class Measured:
    """The counterfactuals of an explanation with the codes of the explainer's space.

    What an explainer has no means to tell is nan.

    Attributes
    ----------
    ruler : Ruler or None
        None for explainers of anything but rows of a table.
    n_features : int
        The number of features, where columns taken together are one.
    """

    def __init__(self, explainer, explanation, target=None):
        self.explainer, self.explanation = explainer, explanation
        self.target = getattr(explainer, "target", None) if target is None else target
        self.ruler, self.n_features = None, int(np.prod(explanation.queries.shape[1:]))
        self.of_model = isinstance(explainer, TabularExplainer)
        space = getattr(explainer, "_space", None)
        if isinstance(space, FeatureSpace):
            self.ruler = Ruler(space, check_rules(explainer.constraints))
            self.n_features = self.ruler.n_groups
            self.X = take(explanation.queries, explanation.row)
            self.codes = self.ruler.read(self.X, explanation.counterfactuals)

    def distance(self, cost):
        """Return the distances of counterfactuals to their queries, (m,)."""
        if self.ruler is None:
            return np.full(len(self.explanation.row), np.nan)
        return self.ruler.cost(cost).rows(*self.codes)

    def valid(self):
        """Return which counterfactuals reach their target, by the model, (m,).

        Without a model, all of them: the explainer has judged them already.
        """
        if not self.of_model:
            return np.ones(len(self.explanation.row), dtype=bool)
        every = np.arange(len(self.explanation.row))
        return self._reached(self.explanation.counterfactuals, every)

    def redundancy(self):
        """Return the share of redundant changes of counterfactuals, (m,)."""
        if not self.of_model:
            return np.full(len(self.explanation.row), np.nan)
        cf = self.explanation.counterfactuals
        return redundant_share(self.ruler, self.X, cf, self.codes, self._reached)

    def _reached(self, table, at):
        """Return which rows reach the targets of the counterfactuals `at`."""
        if not len(at):
            return np.zeros(0, dtype=bool)
        explainer, space = self.explainer, self.explainer._space
        if not hasattr(self, "_judge"):
            queries = space.restore(self.explanation.queries)
            self._judge = Judge(
                explainer.estimator_, queries, self.target, explainer.threshold
            )
        return self._judge.reached(space.restore(table), self.explanation.row[at])
