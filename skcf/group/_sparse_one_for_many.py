"""The fewest counterfactuals that explain a group, each with few changes."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval

from skcf._base import Answers, GroupExplainer
from skcf._mip._queries import confirmed
from skcf._mip._tree_solver import TreeSolver
from skcf._model._dense import Layers
from skcf._model._trees import FlatTrees
from skcf.exceptions import UnsupportedConstraintError
from skcf.group._dear_clusters import warm_up
from skcf.group._exact_oracle import wanted_goals
from skcf.group._layer_oracle import LayerOracle, ListedReluSolver
from skcf.group._linear_oracle import LinearOracle
from skcf.group._linear_scores import is_linear, needs, parts, rooms_of
from skcf.group._menu import Menu
from skcf.group._shared_changes import assigned, fewest_changes
from skcf.group._texts import change_of, native, rule_text, telling_features
from skcf.group._tree_oracle import TreeOracle


class SparseOneForManyExplainer(GroupExplainer):
    """The least number of shared changes that flip every row of a group.

    Rows that agree on all features but a few can share one change: the same features
    set to the same values. At most `max_features` features are changed in each cluster
    of rows, and the number of clusters is the least possible.

    Parameters
    ----------
    estimator : estimator
        A linear model, a tree, an ensemble of trees or a network of rectified linear
        units, a classifier or a regressor, behind any preprocessing that works column
        by column; a fitted one is passed as ``FrozenEstimator(model)``.

    max_features : int, default=3
        The most features that the change of a cluster sets.

    n_bins : int, default=None
        Rows agree on a numeric column where they fall in the same of this many bins,
        with quantiles of the training rows as edges; None asks for equal values. A row
        keeps its own value in a column that its cluster does not change. Linear models
        alone take bins: under others rows have to become one point.

    max_clusters : int, default=200_000
        The most clusters to list. Beyond, the answer is made of clusters that were
        generated one by one, and may not be proved. That may take long: set
        `time_limit`.

    target, threshold, constraints, cost, categorical_features, resolution : object
        As of the other explainers; see :ref:`contract`. Rules on single features may
        differ in effect from row to row. Rules between features, and `max_changes`,
        are refused.

    time_limit : float, default=None
        Seconds of one call. When it has passed, the best cover so far is returned.

    random_state : int, RandomState instance or None, default=None
        Not used: the search is deterministic.

    n_jobs : int, default=None
        Not used: the rows are one problem.

    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.

    classes_ : ndarray of shape (n_classes,)
        The classes of a classifier.

    n_features_in_ : int
        Number of columns seen in fit.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns seen in fit, where they have names.

    See Also
    --------
    OneForManyExplainer : A given number of counterfactuals, near ones.

    Notes
    -----
    The problem is that of [1]_; the method is another one. Clusters that are closed
    (they hold every row that agrees where their members do) are listed from the bottom
    up, or by the sets of features off which rows agree where there are fewer of these.
    One set cover follows. Where the list is complete the number of clusters is proved
    to be the least.

    Before long lists are made, clusters are generated as in [1]_. What the rows are
    worth in the linear program of the cover prices them, and a branch and bound finds
    the clusters that are worth most; where what flips one row of a cluster does not
    flip all of them, a linear mixed-integer program does. `lower_bound` is the bound of
    the linear program [2]_, rounded up, and `optimal` says whether the cover meets it.

    Whether a cluster has a shared change is added up for linear models. For trees and
    networks an exact search of the model is asked, with the features on which the rows
    differ free and at most so many others changed, and only about clusters that a cover
    would take. Where no list is complete their bound is that of the rows alone, for
    which every point is in the target.

    The change of each chosen cluster is the cheapest for its rows, for linear models
    among at most 32 values a feature; the choice among covers of equal size is not
    optimised.

    References
    ----------
    .. [1] J. Ramírez Ayerbe (2024). Counterfactual explanations via mathematical
       optimization. PhD thesis, Universidad de Sevilla.
    .. [2] Farley, A. A. (1990). A note on bounding a class of linear programming
       problems, including cutting stock problems. Operations Research, 38(5),
       922-923. doi:10.1287/opre.38.5.922

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.group import SparseOneForManyExplainer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X[["mean radius", "mean texture", "mean smoothness"]].round(1)
    >>> explainer = SparseOneForManyExplainer(LogisticRegression(), target=1, n_bins=4)
    >>> explained = explainer.fit(X, y).explain(X[:30])
    >>> int(explained.details.n_clusters)
    1
    """

    _parameter_constraints = {
        **GroupExplainer._parameter_constraints,
        "max_features": [Interval(Integral, 1, None, closed="left")],
        "n_bins": [Interval(Integral, 2, None, closed="left"), None],
        "max_clusters": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator,
        *,
        target="opposite",
        threshold=None,
        constraints=(),
        cost="gower",
        categorical_features="from_dtype",
        resolution="observed",
        max_features=3,
        n_bins=None,
        max_clusters=200_000,
        time_limit=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.target = target
        self.threshold = threshold
        self.constraints = constraints
        self.cost = cost
        self.categorical_features = categorical_features
        self.resolution = resolution
        self.max_features = max_features
        self.n_bins = n_bins
        self.max_clusters = max_clusters
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def explain(self, X, *, target=None, n_counterfactuals=1, constraints=None):
        """Return the counterfactuals of the rows with the clusters that share them.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows to explain together, in the columns given to `fit`.
        target : label, array-like of shape (n_samples,) or (n_samples, 2), default=None
            What each row is to become; None uses the `target` of the explainer.
        n_counterfactuals : int, default=1
            A row has one counterfactual, whatever this is.
        constraints : rule, str or list of these, default=None
            Rules that hold in this call on top of those of the explainer.

        Returns
        -------
        explanation : Explanation
            Its `optimal` says whether the number of clusters is proved to be the least
            for the rows that can be flipped at all. Its ``details`` have:

            - `n_clusters`, `lower_bound`: how many there are, and how few there can be;
            - `assignment`: the cluster of each row, -1 for none;
            - `rules`: the change of each cluster as a text;
            - `changes`: the change of each cluster as a dict of column to value;
            - `n_calls`, `n_rows`, `seconds`: as of the other explainers.
        """
        return super().explain(
            X,
            target=target,
            n_counterfactuals=n_counterfactuals,
            constraints=constraints,
        )

    # -- fit ----------------------------------------------------------------------

    def _fit_search(self, X):
        if self.threshold is not None and len(getattr(self, "classes_", ())) > 2:
            raise ValueError(
                f"threshold={self.threshold} with {len(self.classes_)} classes is not "
                "taken; expected None."
            )
        self._check_rules(self._rules)
        self._exact = None if is_linear(self._model) else self._solver()
        warm_up()
        self._edges = {}
        if self.n_bins is not None:
            codes = self._space.encode(X)
            shares = np.linspace(0, 1, self.n_bins + 1)[1:-1]
            for g, members in enumerate(self._space.groups):
                if len(members) == 1 and self._space.numeric[members[0]]:
                    known = codes[:, members[0]]
                    known = known[~np.isnan(known)]
                    if len(known):
                        self._edges[g] = np.unique(np.quantile(known, shares))

    def _solver(self):
        """Return what searches a model that is not linear."""
        kernel = getattr(self._model.view, "kernel", None)
        made = None
        if isinstance(kernel, FlatTrees):
            made = TreeSolver
        elif isinstance(kernel, Layers) and kernel.activation == "relu":
            made = ListedReluSolver
        if made is None:
            raise TypeError(
                f"{type(self).__name__} takes linear models, trees and ensembles of "
                "trees, and networks of rectified linear units, behind a preprocessing "
                f"that works column by column; got {self.estimator!r}."
            )
        if self.n_bins is not None:
            raise ValueError(
                f"n_bins={self.n_bins} takes a linear model: under another one rows "
                "that differ within a bin do not become one point; expected None."
            )
        return made(self._model, self._space, self._rules, self._cost)

    def _check_rules(self, rules):
        for part in rules.joint:
            raise UnsupportedConstraintError(
                f"{rules.rules[part.rule]} ties features to one another; "
                f"{type(self).__name__} takes rules on single features only."
            )
        if rules.max_changes is not None:
            raise UnsupportedConstraintError(
                f"{rules.rules[rules.max_changes_rule]}: {type(self).__name__} limits "
                "changes by max_features."
            )

    def _tightened(self, constraints):
        rules = super()._tightened(constraints)
        self._check_rules(rules)
        return rules

    # -- a call -------------------------------------------------------------------

    def _empty(self):
        return {"n_clusters": 0, "lower_bound": 0, "rules": [], "changes": []}

    def _solve(self, problem, rows, k):
        if not len(rows):
            return self._answers_of(problem, rows, None, [])
        meter = problem.meter
        menu = Menu.of(problem, rows)
        pattern = self._pattern(problem, rows, menu)
        table = [menu.costs(problem, rows, g) for g in range(len(menu.ids))]

        def costs(some):
            return [cost[some].sum(axis=0) for cost in table]

        first = None
        linear = self._exact is None
        for room in rooms_of(problem.goal) if linear else (None,):
            outcomes = self._outcomes(problem, rows, menu, room)
            cover = fewest_changes(
                pattern, outcomes, self.max_features, self.max_clusters, meter
            )
            sure = all(oracle.sure for _, oracle in outcomes)
            # What is found with less room may be on an edge, but proves what is not.
            first = (cover, sure) if first is None else first
            shared = assigned(cover.lots, pattern, costs, meter)
            answers = self._answers_of(problem, rows, menu, shared)
            if not shared or confirmed(problem, answers.row, answers.codes).all():
                break
        cover, sure = first
        served = cover.settled and sure
        lost = np.delete(rows, cover.held)
        if served:
            answers.lower_bound[lost] = np.inf
        elif meter.left is not None:
            problem.cut[lost] = True
        bound = min(cover.bound if sure else 1, len(shared))
        all_held = len(answers.row) + len(lost) == len(rows)
        proved = served and all_held and bound == len(shared)
        answers.optimal = np.full(len(answers.row), proved)
        answers.whole.update(n_clusters=len(shared), lower_bound=bound)
        answers.whole.update(self._told(problem, rows, menu, pattern, shared, costs))
        return answers

    def _pattern(self, problem, rows, menu):
        """Return numbers that are equal where rows agree."""
        pattern = menu.own.copy()
        for g, edges in self._edges.items():
            codes = menu.codes[g][menu.own[:, g], 0]
            pattern[:, g] = np.searchsorted(edges, codes, side="right")
            pattern[np.isnan(codes), g] = -1
        return pattern

    def _outcomes(self, problem, rows, menu, room):
        """Return (rows, oracle) for every outcome that some rows may go to."""
        if self._exact is not None:
            kind = TreeOracle if isinstance(self._exact, TreeSolver) else LayerOracle
            goals = wanted_goals(problem.model, problem.goal.take(rows))
            known = problem, rows, menu
            return [
                (some, kind(*known, goal, self.max_features, self._exact))
                for some, goal in goals
            ]
        scores, own, constant = parts(problem, rows, menu)
        outcomes = []
        for some, direction, need in needs(problem.model, problem.goal.take(rows)):
            oracle = LinearOracle(
                [s @ direction for s in scores],
                own @ direction,
                np.tile(need - constant @ direction, (len(rows), 1)),
                menu.allowed,
                menu.must,
                self.max_features,
                room,
            )
            outcomes.append((some, oracle))
        return outcomes

    def _answers_of(self, problem, rows, menu, shared):
        """Return the Answers of the rows that have a change."""
        assignment = np.full(len(problem), -1)
        row, codes = [rows[:0]], [problem.x[:0]]
        for c, one in enumerate(shared):
            row.append(rows[one.rows])
            codes.append(menu.write(problem, rows[one.rows], one.change))
            assignment[row[-1]] = c
        row, codes = np.concatenate(row), np.concatenate(codes)
        order = np.argsort(row, kind="stable")
        return Answers(
            row[order],
            codes[order],
            problem.cut,
            whole=self._empty(),
            lower_bound=np.full(len(problem), np.nan),
            by_row={"assignment": assignment},
        )

    def _told(self, problem, rows, menu, pattern, shared, costs):
        """Return the changes, and their texts."""
        told = {"rules": [], "changes": []}
        for one in shared:
            change = change_of(problem, menu, one.change)
            condition = [
                self._condition(problem, g, menu.codes[g][menu.own[one.rows[0], g]])
                for g in telling_features(pattern, one.rows)
            ]
            price = costs(one.rows)
            cost = sum(price[g][v] for g, v in enumerate(one.change) if v >= 0)
            n = len(one.rows)
            told["changes"].append(change)
            told["rules"].append(rule_text(condition, change, n, cost / n))
        return told

    def _condition(self, problem, g, codes):
        """Return in words that a feature is as it is for some row."""
        space = problem.space
        edges = self._edges.get(g)
        if edges is None or np.isnan(codes[0]):
            return " and ".join(
                f"{space.names[j]} == {native(space, j, code)!r}"
                for j, code in zip(space.groups[g], codes, strict=True)
            )
        name = space.names[space.groups[g][0]]
        at = np.searchsorted(edges, codes[0], side="right")
        low = "" if at == 0 else f"{edges[at - 1]:.6g} <= "
        high = "" if at == len(edges) else f" < {edges[at]:.6g}"
        return f"{low}{name}{high}"
