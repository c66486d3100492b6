"""The nearest counterfactual, and the proof that there is none nearer."""

from collections.abc import Mapping
from copy import copy
from numbers import Real

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skcf._base import Answers, TabularExplainer
from skcf._mip._causal import CausalCost
from skcf._mip._families import PROVABLE, check_target, solver_for
from skcf._mip._plausible import Plausible
from skcf._mip._queries import solve_queries
from skcf._model._trees import FlatTrees


class OptimalExplainer(TabularExplainer):
    """Nearest counterfactuals with a proof that there is none nearer.

    An ensemble of trees is constant on boxes between its thresholds, so that the
    cheapest point of each box is known and the boxes can be searched as a finite set.
    A branch and bound search over linear relaxations does that for one row after
    another. Linear models have closed forms; networks of rectified linear units are
    mixed-integer programs, or searched unit by unit. The search ends with the cheapest
    of all counterfactuals that keep the rules, or with a proof that there is none at
    all.

    Read more in the :ref:`User Guide <optimal>`.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor to explain. It is cloned and fitted in `fit`; pass a
        fitted one as ``FrozenEstimator(model)``. It has to be a tree or an ensemble of
        trees of scikit-learn, XGBoost or LightGBM, a linear model, or a network of
        rectified linear units; or a soft vote of trees, or one of these calibrated by
        one sigmoid. Before it there may be steps that encode column by column, in a
        Pipeline or a ColumnTransformer.

    target : "opposite", label, (low, high) or array-like, default="opposite"
        What a row is to become: any class but the one predicted, a class, or for a
        regressor a closed interval (None for an open end).

    threshold : float in (0, 1], default=None
        The least probability of the target, on top of being predicted in it. For linear
        models and networks of more than two classes the target has to be a class.

    constraints : rule, str or list of these, default=()
        What may change, and how; see :mod:`skcf.constraints`.

    cost : Cost or {"gower", "sparse", "mace", "squared", "geco"}, default="gower"
        What a change takes; see :class:`~skcf.costs.Cost`.

    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Columns without an order: by dtype, or by names, positions or a mask.

    resolution : "observed", None, float or dict, default="observed"
        The grid of numbers: the decimals seen in the training rows, none, or a step;
        a dict sets it for single columns. The proof is over this grid.

    plausibility : float in (0, 1), default=None
        Counterfactuals have to be as hard to isolate as training rows are, but for
        this part of them: the trees of an isolation forest become one more row of the
        problem. For ensembles of trees, and rows without missing values.

    effects : mapping of (column, column) to float, default=None
        By how many units the second column follows, for free, when the first one is
        moved by one unit; both are numbers. What is paid is then what is done to a
        row and not what follows. `{("education", "income"): 1200.0}`

    time_limit : float, default=None
        Seconds that a call may take. The best that was found until then is returned,
        with the bound that was proved until then.

    random_state : int, RandomState instance or None, default=None
        Determines the isolation forest. There is no other chance in the method.

    n_jobs : int, default=None
        Number of jobs over blocks of rows.

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

    isolation_forest_ : IsolationForest
        Fitted on the encoded training rows, where `plausibility` is given.

    See Also
    --------
    blocking_rules : Which rules leave no way out.
    GeCoExplainer : A heuristic search, for any model.

    Notes
    -----
    The intervals between thresholds and the relaxation over them go back to [1]_ and
    [2]_; here any cost that is a sum over features, with or without the largest of
    them, is a constant of each interval. Thresholds are those of the model's own
    number type, found by bisection through the preprocessing: no small step is added
    to them. Nothing hangs on the precision of the linear solver: its multipliers are
    only used for a bound that holds for any multipliers.

    Of several counterfactuals the second is the cheapest of those that do not change
    all features that the first one changes, and so on: one that only adds a change to
    another is no alternative.

    An answer over trees is cheapest up to a difference of 5e-10; one over a network, or
    that the solver of mixed-integer programs proved, up to a relative one of 1e-6.

    References
    ----------
    .. [1] Parmentier, A., Vidal, T. (2021). Optimal Counterfactual Explanations in
       Tree Ensembles. Proceedings of the 38th International Conference on Machine
       Learning, PMLR 139, 8422-8431. doi:10.48550/arXiv.2106.06631
    .. [2] Misic, V. V. (2020). Optimization of Tree Ensembles. Operations Research,
       68(5), 1605-1624. doi:10.1287/opre.2019.1928

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.tabular import OptimalExplainer
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0], [9.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = OptimalExplainer(DecisionTreeClassifier()).fit(X, y)
    >>> explanation = explainer.explain([[1.0, 5.0]])
    >>> explanation.counterfactuals, explanation.optimal
    (array([[5., 5.]]), array([ True]))
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "plausibility": [Interval(Real, 0, 1, closed="neither"), None],
        "effects": [Mapping, None],
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
        plausibility=None,
        effects=None,
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
        self.plausibility = plausibility
        self.effects = effects
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def explain(
        self,
        X,
        *,
        target=None,
        n_counterfactuals=1,
        min_distance=None,
        constraints=None,
        callback=None,
    ):
        """Return the counterfactuals of every row with what is proved of them.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows to explain, in the columns given to `fit`.
        target : label, array-like of shape (n_samples,) or (n_samples, 2), default=None
            What each row is to become; None uses the `target` of the explainer.
        n_counterfactuals : int, default=1
            The most counterfactuals of a row. Each is the cheapest of those that do
            not change all features of one before it.
        min_distance : float, default=None
            The least Gower distance (by the ranges of the training rows, whatever the
            `cost` is) between two counterfactuals of a row. Those that are nearer are
            left out.
        constraints : rule, str or list of these, default=None
            Rules that hold in this call on top of those of the explainer.
        callback : callable, default=None
            Called as ``callback(row, cost, bound)`` whenever a search finds a cheaper
            first counterfactual of a row, or proves a higher bound. With several jobs,
            it is called from several threads.

        Returns
        -------
        explanation : Explanation
            Its `optimal` says of which counterfactuals it is proved that there is none
            cheaper, and `lower_bound` what no counterfactual of a row costs less than:
            the cost itself where it is proved, inf where there is none.
        """
        return self._explain(
            X,
            target,
            n_counterfactuals,
            constraints=constraints,
            min_distance=min_distance,
            callback=callback,
        )

    def pareto(self, X, thresholds, *, target=None):
        """Return what more and more certainty about the target costs one row.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (1, n_features)
        thresholds : array-like of shape (m,)
            The least probabilities of the target, in (0, 1].
        target : label, default=None
            None uses the `target` of the explainer.

        Returns
        -------
        front : Bunch
            With an entry for each threshold in every array:

            - `threshold`, `status`;
            - `cost`, `score`: of the cheapest counterfactual and its probability of
              the target, nan where there is none;
            - `optimal`, `lower_bound`: what is proved of it;
            - `explanations`: a list of the :class:`~skcf.Explanation` of each.
        """
        check_is_fitted(self)
        if self._model.regression or self._model.method != "predict_proba":
            raise ValueError("pareto needs a classifier with predict_proba.")
        thresholds = np.ravel(np.asarray(thresholds, dtype=np.float64))
        if not (len(thresholds) and ((thresholds > 0) & (thresholds <= 1)).all()):
            raise ValueError(
                f"thresholds must be probabilities in (0, 1], got {thresholds!r}."
            )
        if len(X) != 1:
            raise ValueError(f"pareto takes one row, got {len(X)}.")
        explanations = []
        for threshold in thresholds.tolist():
            explainer = copy(self).set_params(threshold=threshold)
            explanations.append(explainer.explain(X, target=target))

        def first(name, nothing):
            told = [getattr(e, name) for e in explanations]
            return np.array([v[0] if len(v) else nothing for v in told])

        return Bunch(
            threshold=thresholds,
            status=first("status", ""),
            cost=first("cost", np.nan),
            score=first("score", np.nan),
            optimal=first("optimal", False),
            lower_bound=first("lower_bound", np.nan),
            explanations=explanations,
        )

    def _open(self, X, target, *, callback=None, **options):
        query = super()._open(X, target, **options)
        query.state.callback = callback
        return query

    def _fit_search(self, X):
        if self.effects:
            self._cost = CausalCost(self._cost, self._space, self.effects)
        self._plausible = None
        if self.plausibility is not None:
            self._plausible = self._learn_plausible(X)
        self._solver = self._solver_for(self._rules)
        check_target(self._model, self.target, self.threshold)
        self._rules_of_fit = self._rules
        self._boxes = getattr(self._solver, "boxes", None)

    def _learn_plausible(self, X):
        """Fit an isolation forest to the training rows."""
        if not isinstance(getattr(self._model.view, "kernel", None), FlatTrees):
            raise ValueError(
                "plausibility is for trees and ensembles of trees; "
                f"{self.estimator_!r} could not be read as one."
            )
        out = Plausible.learn(self._model, X, self.plausibility, int(self._seed))
        self.isolation_forest_ = out.forest
        return out

    def _boxes_for(self, rules):
        """Return the boxes that were learned in fit if they are those of the rules."""
        same = np.array_equal(rules.low, self._rules_of_fit.low)
        same &= np.array_equal(rules.high, self._rules_of_fit.high)
        return self._boxes if same else None

    def _solver_for(self, rules, boxes=None):
        solver = solver_for(
            self._model,
            self._space,
            rules,
            self._cost,
            boxes=boxes,
            plausible=self._plausible,
        )
        if solver is None:
            raise TypeError(
                f"{type(self).__name__} proves answers for {PROVABLE}; "
                f"{self.estimator_!r} could not be read as one of these."
            )
        return solver

    def _solve(self, problem, rows, k):
        solver = self._solver
        if problem.ground.rules is not self._rules:
            rules = problem.ground.rules
            solver = self._solver_for(rules, self._boxes_for(rules))
        return self._as_answers(problem, solve_queries(problem, rows, solver, k))

    def _as_answers(self, problem, solutions):
        bound = np.full(len(problem), np.nan)
        for i, solution in solutions.items():
            bound[i] = solution.lower_bound
            problem.cut[i] = solution.status == "none"
        count = [len(s) for s in solutions.values()]
        row = np.repeat(np.array(list(solutions), dtype=np.intp), count)
        codes = [s.codes for s in solutions.values()]
        optimal = [s.optimal for s in solutions.values()]
        return Answers(
            row,
            np.concatenate(codes) if codes else problem.x[:0],
            problem.cut,
            optimal=np.concatenate(optimal) if optimal else np.empty(0, dtype=bool),
            lower_bound=bound,
        )
