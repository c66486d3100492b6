"""One counterfactual for each row of a group, with what the rows share."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import check_is_fitted

from skcf._base import Answers, GroupExplainer
from skcf._mip._families import PROVABLE, check_target, solver_for
from skcf.group._joint_blocks import check_mean_score
from skcf.group._linked import Links
from skcf.group._means import check_means
from skcf.group._one_for_many import check_weights
from skcf.group._ways import alone, by_feature_sets, by_prices, by_program


class OneForOneExplainer(GroupExplainer):
    """One counterfactual for each row of a group, with few features for all of them.

    Each row gets a counterfactual of its own; what ties them together is a price on
    every feature that changes in some row, or a limit on their number, the share of
    rows that have to be explained, and how far apart similar rows may end.

    Read more in the :ref:`User Guide <group>`.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor to explain. It is cloned and fitted in `fit`; pass a
        fitted one as ``FrozenEstimator(model)``. It has to be a tree or an ensemble of
        trees, a linear model or a network of rectified linear units, behind steps that
        encode column by column.

    group_sparsity : float, default=0.0
        What each feature costs that changes in some row of the group.

    max_features : int, default=None
        The most features that may change in the group.

    coverage : float in (0, 1] or int, default=1.0
        The share, or the number, of the rows that have to be explained. The others are
        the outliers: those whose counterfactuals would cost most.

    lipschitz : float, default=None
        How many times farther apart than two rows are their counterfactuals may be,
        in the Euclidean distance of numbers by their scale and of categories (0 or 1).

    mean_threshold : float in (0, 1], default=None
        The least mean probability of the target over the rows that are explained, each
        of which is in the target. `threshold` is the least of each single row.

    mean_bounds : mapping of column name to (low, high), default=None
        Where the mean of a numeric column over the counterfactuals has to be, such as
        near the mean of the group; None for an open end. Columns of an array go by
        their position.

    target, threshold : object
        What the rows are to become, as of :class:`~skcf.tabular.OptimalExplainer`. With
        more than two classes it has to be a class where rows are tied together, except
        by features of trees.

    constraints : rule, str or list of these, default=()
        What may change, and how; see :mod:`skcf.constraints`.

    cost : Cost or {"squared", "gower", "sparse", "mace", "geco"}, default="squared"
        What a change takes; see :class:`~skcf.costs.Cost`. Its `l0` is the price of a
        feature that changes in a single row.

    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Columns without an order: by dtype, or by names, positions or a mask.

    resolution : "observed", None, float or dict, default="observed"
        The grid of numbers, as in :class:`~skcf.tabular.OptimalExplainer`.

    time_limit : float, default=None
        Seconds that a call may take. The best that was found until then is returned,
        with the bound that was proved until then.

    random_state : int, RandomState instance or None, default=None
        Not used: the method has no chance in it.

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
    skcf.tabular.OptimalExplainer : Rows one by one.
    OneForManyExplainer : Rows that share counterfactuals.

    Notes
    -----
    Without anything that ties rows together the problem falls apart into one for each
    row, and the rows to leave out are those that pay most [1]_. Once the features that
    may change are fixed the rows are independent, too. So for trees, and for a linear
    model with a cost of lines and squares, the best set of features is searched, with
    exact searches of single rows in it: see the :ref:`User Guide <group>`.

    Everything else is a mixed-integer program over all rows, first over the points that
    cost each row little more than its own answer. The mean of probabilities that are
    logistic functions of scores is bounded by tangents: where all rows are in the
    target, these functions are concave.

    References
    ----------
    .. [1] Carrizosa, E., Ramírez-Ayerbe, J., Romero Morales, D. (2024). Generating
       collective counterfactual explanations in score-based classification via
       mathematical optimization. Expert Systems with Applications, 238, 121954.
       doi:10.1016/j.eswa.2023.121954

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skcf.group import OneForOneExplainer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X.iloc[:, :6]
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> explainer = OneForOneExplainer(
    ...     model, target=1, max_features=2, resolution=None
    ... ).fit(X, y)
    >>> explained = explainer.explain(X[y == 0][:20])
    >>> len(explained.details.features) <= 2, bool(explained.optimal.all())
    (True, True)
    """

    _parameter_constraints = {
        **GroupExplainer._parameter_constraints,
        "group_sparsity": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "coverage": [
            Interval(RealNotInt, 0, 1, closed="right"),
            Interval(Integral, 1, None, closed="left"),
        ],
        "lipschitz": [Interval(Real, 0, None, closed="neither"), None],
        "mean_threshold": [Interval(Real, 0, 1, closed="right"), None],
        "mean_bounds": "no_validation",
    }

    def __init__(
        self,
        estimator,
        *,
        target="opposite",
        threshold=None,
        constraints=(),
        cost="squared",
        categorical_features="from_dtype",
        resolution="observed",
        group_sparsity=0.0,
        max_features=None,
        coverage=1.0,
        lipschitz=None,
        mean_threshold=None,
        mean_bounds=None,
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
        self.group_sparsity = group_sparsity
        self.max_features = max_features
        self.coverage = coverage
        self.lipschitz = lipschitz
        self.mean_threshold = mean_threshold
        self.mean_bounds = mean_bounds
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def explain(
        self, X, *, target=None, n_counterfactuals=1, constraints=None, weights=None
    ):
        """Return the counterfactuals of the rows with what is proved of the group.

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
        weights : array-like of shape (n_samples,), default=None
            How much the cost of each row counts, such as more for a sensitive group.

        Returns
        -------
        explanation : Explanation
            Its `optimal` says whether the objective of the group is proved to be the
            least. Its ``details`` have:

            - `objective`, `lower_bound`: the weighted cost of the rows and the price of
              the features, and what no answer for the group falls below;
            - `features`: the names of the features that change in some row;
            - `outliers`: positions of the rows that were left out;
            - `assignment`: 0 for each row that has a counterfactual, -1 for the others;
            - `n_calls`, `n_rows`, `seconds`: as of the other explainers.
        """
        return self._explain(
            X,
            target,
            n_counterfactuals,
            constraints=constraints,
            weights=check_weights(weights, len(X)),
        )

    def pareto(self, X, *, max_features=None, thresholds=None, target=None):
        """Return what fewer features, or more certainty, cost the group.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
        max_features : array-like of int, default=None
            Limits on the number of features; by default from one to all of them.
        thresholds : array-like of float, default=None
            The least probabilities of the target, in place of `max_features`.
        target : label, default=None

        Returns
        -------
        front : Bunch
            With an entry for each limit in every array or list: `max_features` or
            `threshold`, `objective` (inf where there is no answer), `lower_bound`,
            `features` and `explanations`.
        """
        check_is_fitted(self)
        if (max_features is not None) and (thresholds is not None):
            raise ValueError("Give max_features or thresholds, not both.")
        name, values = "max_features", max_features
        if thresholds is not None:
            name, values = "threshold", np.ravel(thresholds).tolist()
        elif values is None:
            values = range(1, len(self._space.groups) + 1)
        explanations = []
        for value in values:
            one = object.__new__(type(self))
            one.__dict__.update(self.__dict__)
            one.set_params(**{name: value})
            explanations.append(one.explain(X, target=target))
        told = [e.details for e in explanations]
        return Bunch(
            **{name: np.array(list(values))},
            objective=np.array([t.objective for t in told]),
            lower_bound=np.array([t.lower_bound for t in told]),
            features=[t.features for t in told],
            explanations=explanations,
        )

    # -- fit ----------------------------------------------------------------------

    def _fit_search(self, X):
        check_means(self.mean_bounds, self._space)
        self._solver = self._solver_for(self._rules)
        check_target(self._model, self.target, self.threshold)
        if self.mean_threshold is not None:
            check_mean_score(self._solver)

    def _solver_for(self, rules):
        solver = solver_for(self._model, self._space, rules, self._cost)
        if solver is None:
            raise TypeError(
                f"{type(self).__name__} takes {PROVABLE}; {self.estimator_!r} could "
                "not be read as one of these."
            )
        return solver

    @property
    def _tied(self):
        """Whether something ties the rows together."""
        few = self.max_features is not None
        return bool(self.group_sparsity) or few or bool(self._links)

    @property
    def _links(self):
        means = check_means(self.mean_bounds, self._space)
        return Links(self.lipschitz, self.mean_threshold, means)

    # -- a call -------------------------------------------------------------------

    def _solve(self, problem, rows, k):
        if not len(rows):
            return self._answers_of(problem, rows, None)
        solver = self._solver
        if problem.ground.rules is not self._rules:
            solver = self._solver_for(problem.ground.rules)
        weight = problem.options.get("weights")
        group = Bunch(
            problem=problem,
            rows=rows,
            x=problem.x[rows],
            encoded=np.asarray(solver.encode(problem.table))[rows],
            goals=[problem.goal.take(rows[[i]]) for i in range(len(rows))],
            weight=np.ones(len(rows)) if weight is None else weight[rows],
            n_served=self._n_served(len(rows)),
        )
        if not self._tied:
            found = alone(group, solver)
        else:
            price, most = self.group_sparsity, self.max_features
            found, links = None, self._links
            if not links:
                found = by_feature_sets(group, solver, price, most)
            if found is None and not links:
                found = by_prices(group, solver, price, most)
            if found is None:
                found = by_program(group, solver, price, most, links)
        return self._answers_of(problem, rows, found)

    def _n_served(self, n):
        if isinstance(self.coverage, Integral):
            return min(int(self.coverage), n)
        return int(np.ceil(self.coverage * n - 1e-9))

    # -- answers ------------------------------------------------------------------

    def _answers_of(self, problem, rows, found):
        n = len(problem)
        assignment = np.full(n, -1)
        if found is None:
            return Answers(
                rows,
                problem.x[:0],
                problem.cut,
                whole=self._empty(),
                by_row={"assignment": assignment},
            )
        served = found.served
        assignment[rows[served]] = 0
        bound = np.full(n, np.nan)
        bound[rows[found.dead]] = np.inf
        if not served.any() and not found.dead.any():
            problem.cut[rows] |= problem.meter.expired
        before, after = problem.x[rows[served]], found.codes[served]
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        space = problem.space
        touched = [
            ", ".join(str(space.names[j]) for j in members)
            for members in space.groups
            if not same[:, list(members)].all()
        ]
        return Answers(
            rows[served],
            after,
            problem.cut,
            whole={
                "objective": found.total,
                "lower_bound": found.bound,
                "features": touched,
                "outliers": problem.called[rows[~served]],
            },
            optimal=np.full(int(served.sum()), found.proved),
            lower_bound=bound,
            by_row={"assignment": assignment},
        )

    def _empty(self):
        return {
            "objective": 0.0,
            "lower_bound": 0.0,
            "features": [],
            "outliers": np.empty(0, dtype=np.intp),
        }
