"""Several counterfactuals for one row: one in each band of a feature of interest."""

import numpy as np
from sklearn.utils import check_array

from skcf._base import Answers, TabularExplainer
from skcf._mip._families import PROVABLE, solver_for
from skcf._mip._queries import solve_queries
from skcf.constraints import one_of, rule
from skcf.constraints._rule_set import RuleSet


class ManyForOneExplainer(TabularExplainer):
    """Several counterfactuals for each row: one in each band of a feature.

    The values of a feature of interest are divided into bands, such as low, middle and
    high incomes, and the cheapest counterfactual is found in each of them: what would
    have had to be different if that feature were there?

    Read more in the :ref:`User Guide <group>`.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor to explain. It is cloned and fitted in `fit`; pass a
        fitted one as ``FrozenEstimator(model)``. It has to be a tree or an ensemble of
        trees, a linear model or a network of rectified linear units, behind steps that
        encode column by column.

    feature : str or int
        Name or position of the feature of interest.

    bands : array-like of shape (n_bands - 1,), default=None
        The edges between the bands of a numeric feature; a band has its upper edge.
        None takes the quartiles of the training rows but the median: up to the first,
        above the third, and between them. The levels of a categorical feature are
        bands, each by itself.

    target : "opposite", label, (low, high) or array-like, default="opposite"
        What a row is to become: any class but the one predicted, a class, or for a
        regressor a closed interval (None for an open end).

    threshold : float in (0, 1], default=None
        The least probability of the target, on top of being predicted in it.

    constraints : rule, str or list of these, default=()
        What may change, and how; see :mod:`skcf.constraints`.

    cost : Cost or {"gower", "sparse", "mace", "squared", "geco"}, default="gower"
        What a change takes; see :class:`~skcf.costs.Cost`.

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
        Number of jobs over blocks of rows.

    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    bands_ : list of str
        The bands as rules, in order.

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
    skcf.tabular.OptimalExplainer : The cheapest counterfactual, wherever it is.

    Notes
    -----
    Each band is an exact problem of its own, that of
    :class:`~skcf.tabular.OptimalExplainer` with one rule more [1]_.

    References
    ----------
    .. [1] Carrizosa, E., Ramírez-Ayerbe, J., Romero Morales, D. (2024). Mathematical
       optimization modelling for group counterfactual explanations. European Journal
       of Operational Research, 319(2), 399-412. doi:10.1016/j.ejor.2024.01.002

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.group import ManyForOneExplainer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=4, random_state=0)
    >>> explainer = ManyForOneExplainer(model, feature="worst area").fit(X, y)
    >>> explained = explainer.explain(X[:1])
    >>> explained.details.band_status
    array([['found', 'found', 'found']], dtype='<U10')
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "feature": "no_validation",
        "bands": "no_validation",
    }

    def __init__(
        self,
        estimator,
        *,
        feature,
        bands=None,
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
        self.feature = feature
        self.bands = bands
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

    def explain(
        self,
        X,
        *,
        target=None,
        n_counterfactuals=None,
        min_distance=None,
        constraints=None,
    ):
        """Return the counterfactuals of every row, one in each band.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows to explain, in the columns given to `fit`.
        target : label, array-like of shape (n_samples,) or (n_samples, 2), default=None
            What each row is to become; None uses the `target` of the explainer.
        n_counterfactuals : int, default=None
            The most counterfactuals of a row, the cheapest first; None for all bands.
        min_distance : float, default=None
            The least Gower distance between two counterfactuals of a row.
        constraints : rule, str or list of these, default=None
            Rules that hold in this call on top of those of the explainer.

        Returns
        -------
        explanation : Explanation
            Its `optimal` says of which counterfactuals it is proved that there is none
            cheaper in their band. Its ``details`` have, besides `n_calls`, `n_rows`,
            `seconds` and `blocking_rules` as of the other explainers:

            - `band`: the position in `bands_` of the band of each counterfactual;
            - `band_status`: of shape (n_samples, n_bands), for each band "found",
              "infeasible" (proved), or "budget"; "already" for a row that is in the
              target as it is.
        """
        k = len(self.bands_) if n_counterfactuals is None else n_counterfactuals
        return self._explain(
            X, target, k, constraints=constraints, min_distance=min_distance
        )

    # -- fit ----------------------------------------------------------------------

    def _fit_search(self, X):
        try:
            j = self._space.position(self.feature)
        except ValueError as error:
            raise ValueError(f"feature: {error}") from None
        self._bands = self._learn_bands(j, self._space.encode(X)[:, j])
        self.bands_ = [
            " and ".join(str(r) for r in band) or "anywhere" for band in self._bands
        ]
        self._solvers = self._solvers_of(self._rules)

    def _learn_bands(self, j, codes):
        """Return the rules of each band."""
        column = self._space.columns[j]
        name = self._space.names[j]
        if column.levels is not None:
            if self.bands is not None:
                raise ValueError(
                    f"bands are edges between numbers, and column {name!r} is "
                    "categorical: each of its levels is a band. Expected None."
                )
            return [(one_of(name, [level]),) for level in column.levels]
        if column.kind != "numeric":
            raise ValueError(f"feature {name!r} holds {column.dtype}, no numbers.")
        edges = self.bands
        if edges is None:
            edges = np.unique(np.nanquantile(codes, [0.25, 0.75]))
        else:
            edges = check_array(edges, ensure_2d=False, dtype=np.float64)
            if edges.ndim != 1 or (np.diff(edges) <= 0).any():
                raise ValueError(
                    f"bands must be a rising list of edges, got {self.bands!r}."
                )
        cell = f"cf[{name!r}]"
        bands = []
        for low, high in zip([None, *edges], [*edges, None], strict=True):
            low = [] if low is None else [rule(f"{cell} > {float(low)!r}")]
            high = [] if high is None else [rule(f"{cell} <= {float(high)!r}")]
            bands.append((*low, *high))
        return bands

    def _solvers_of(self, rules):
        """Return the solver of each band."""
        solvers = []
        for band in self._bands:
            more = RuleSet((*rules.rules, *band), self._space)
            solver = solver_for(self._model, self._space, more, self._cost)
            if solver is None:
                raise TypeError(
                    f"{type(self).__name__} takes {PROVABLE}; {self.estimator_!r} "
                    "could not be read as one of these."
                )
            solvers.append(solver)
        return solvers

    # -- a call -------------------------------------------------------------------

    def _solve(self, problem, rows, k):
        rules, solvers = problem.ground.rules, self._solvers
        if rules is not self._rules:
            solvers = self._solvers_of(rules)
        n, n_bands = len(problem), len(solvers)
        status = np.full((n, n_bands), "infeasible", dtype="<U10")
        bound = np.full((n, n_bands), np.inf)
        lots = []
        for b, solver in enumerate(solvers):
            for i, solution in solve_queries(problem, rows, solver).items():
                bound[i, b] = solution.lower_bound
                if len(solution):
                    status[i, b] = "found"
                    lots.append((i, b, solution))
                elif solution.status != "infeasible":
                    status[i, b] = "budget"
        lots.sort(key=lambda lot: (lot[0], lot[2].cost[0], lot[1]))
        found = (status == "found").any(axis=1)
        problem.cut[(status == "budget").any(axis=1) & ~found] = True
        return Answers(
            np.array([i for i, _, _ in lots], dtype=np.intp),
            np.array([s.codes[0] for _, _, s in lots]).reshape(len(lots), -1)
            if lots
            else problem.x[:0],
            problem.cut,
            extra={"band": np.array([b for _, b, _ in lots], dtype=np.intp)},
            optimal=np.array([s.optimal[0] for _, _, s in lots], dtype=bool),
            lower_bound=bound.min(axis=1),
            by_row={"band_status": status},
        )

    def _extras(self):
        return {"band": np.intp}

    def _nothing(self, query):
        answers = super()._nothing(query)
        status = np.full((len(query), len(self._bands)), "already", dtype="<U10")
        answers.by_row = {"band_status": status}
        return answers
