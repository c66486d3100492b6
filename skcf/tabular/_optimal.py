"""The nearest counterfactual, and the proof that there is none nearer."""

import time

import numpy as np

from skcf._base import Answers, TabularExplainer
from skcf._mip._tree_solver import TreeSolver
from skcf._model._trees import FlatTrees


class OptimalExplainer(TabularExplainer):
    """Nearest counterfactuals with a proof that there is none nearer.

    An ensemble of trees is constant on boxes between its thresholds, so that the
    cheapest point of each box is known and the boxes can be searched as a finite set.
    A branch and bound search over linear relaxations does that for one row after
    another. It ends with the cheapest of all counterfactuals that keep the rules, or
    with a proof that there is none at all.

    Read more in the :ref:`User Guide <optimal>`.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor to explain. It is cloned and fitted in `fit`; pass a
        fitted one as ``FrozenEstimator(model)``. It has to be a tree or an ensemble of
        trees of scikit-learn, XGBoost or LightGBM; before it there may be steps that
        encode column by column, in a Pipeline or a ColumnTransformer.

    target : "opposite", label, (low, high) or array-like, default="opposite"
        What a row is to become: any class but the one predicted, a class, or for a
        regressor a closed interval (None for an open end).

    threshold : float in (0, 1], default=None
        The least probability of the target, on top of being predicted in it.

    constraints : rule, str or list of these, default=()
        What may change, and how; see :mod:`skcf.constraints`.

    cost : Cost or {"gower", "sparse", "mace", "geco"}, default="gower"
        What a change takes; see :class:`~skcf.costs.Cost`.

    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Columns without an order: by dtype, or by names, positions or a mask.

    resolution : "observed", None, float or dict, default="observed"
        The grid of numbers: the decimals seen in the training rows, none, or a step;
        a dict sets it for single columns. The proof is over this grid.

    time_limit : float, default=None
        Seconds that a call may take. The best that was found until then is returned,
        with the bound that was proved until then.

    random_state : int, RandomState instance or None, default=None
        Not used: the method has no chance in it.

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

    See Also
    --------
    GeCoExplainer : A heuristic search, for any model.

    Notes
    -----
    The intervals between thresholds and the relaxation over them go back to [1]_ and
    [2]_; here any cost that is a sum over features, with or without the largest of
    them, is a constant of each interval. Thresholds are those of the model's own
    number type, found by bisection through the preprocessing: no small step is added
    to them. Nothing hangs on the precision of the linear solver: its multipliers are
    only used for a bound that holds for any multipliers.

    An answer is cheapest up to a difference of 5e-10.

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
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_search(self, X):
        if not isinstance(getattr(self._model.view, "kernel", None), FlatTrees):
            raise TypeError(
                f"{type(self).__name__} proves answers for trees and ensembles of "
                "trees of scikit-learn, XGBoost and LightGBM, behind steps that encode "
                f"column by column; {self.estimator_!r} could not be read as one."
            )
        self._solver = TreeSolver(self._model, self._space, self._rules, self._cost)

    def _solve(self, problem, rows, k):
        solver = self._solver
        if problem.ground.rules is not self._rules:
            solver = solver.with_rules(problem.ground.rules)
        encoded = solver.encode(problem.table)
        solutions = {}
        for n, i in enumerate(rows.tolist()):
            deadline = problem.meter.deadline
            if deadline is not None:
                now = time.monotonic()
                deadline = now + (deadline - now) / (len(rows) - n)
            ask = _Asked(problem, i, deadline)
            solutions[i] = ask.solve(solver, encoded[i], k)
        doubted = self._doubted(problem, solutions)
        for i in doubted:
            ask = _Asked(problem, i, problem.meter.deadline)
            solutions[i] = ask.solve(solver, encoded[i], k, strict=True)
        return self._as_answers(problem, solutions)

    def _doubted(self, problem, solutions):
        """Return the queries with an answer that the model does not confirm."""
        some = [(i, row) for i, s in solutions.items() for row in s.codes]
        if not some:
            return []
        who = np.array([i for i, _ in some])
        ok = _confirmed(problem, who, np.array([row for _, row in some]))
        return np.unique(who[~ok]).tolist()

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


class _Asked:
    """One query of a problem on its way to a solver."""

    def __init__(self, problem, i, deadline):
        self.problem, self.i, self.deadline = problem, i, deadline

    def solve(self, solver, encoded, k, strict=False):
        problem, i = self.problem, self.i
        lifted = problem.ground.lifted
        return solver.solve(
            problem.x[i],
            problem.goal.take(np.array([i])),
            encoded=encoded,
            lifted=-1 if lifted is None else int(lifted[i]),
            deadline=self.deadline,
            k=k,
            accept=self.accept,
            strict=strict,
        )

    def accept(self, codes):
        """Return which rows of codes the model itself says are in the target."""
        return _confirmed(self.problem, np.full(len(codes), self.i), codes)


def _confirmed(problem, who, codes):
    """Return which rows of codes the model says are in the target of a query."""
    model, goal = problem.model, problem.goal.take(who)
    table = problem.space.decode(codes, problem.table, who)
    prediction = model.predict(table)
    scores, probability = model.output(table)
    for _ in range(2):
        problem.meter.add(len(codes))
    if model.regression:
        place = prediction.astype(np.float64)
    else:
        place = model.positions(prediction)
    clear = model.passes(model.margin(scores, probability, goal))
    return clear & goal.reached(place, probability)
