"""A few counterfactuals for many rows."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array

from skcf.group._center_explainer import CenterExplainer
from skcf.group._centers import Centers, assign


class OneForManyExplainer(CenterExplainer):
    """A given number of counterfactuals for a group, each shared by many rows.

    The rows of a call are clustered by where they are to go: each row is sent to one
    of `n_centers` points that the model decides for, so that the total cost is small.

    Read more in the :ref:`User Guide <group>`.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor to explain. It is cloned and fitted in `fit`; pass a
        fitted one as ``FrozenEstimator(model)``. With ``location="any"`` it has to be
        a tree, an ensemble of trees, a linear model or a network of rectified linear
        units, behind steps that encode column by column.

    n_centers : int, default=3
        The most counterfactuals.

    location : {"any", "observed"}, default="any"
        Where counterfactuals may lie: anywhere in the feature space, or only at
        training rows (endogenous counterfactuals).

    worst : bool, default=False
        With ``location="observed"``, whether the cost of the row that pays most is
        minimised (a p-center) and not the total (a p-median).

    n_init : int, default=5
        With ``location="any"``, the number of starts.

    group : {"call", "fit"}, default="call"
        Which rows the centers are located for: those of each call, or the rows given
        to `fit` that are not in the target. In the second case `transform` only sends
        rows to the centers, and gives a row the same answer in any company.

    target, threshold : object
        What the rows are to become, as of :class:`~skcf.tabular.GeCoExplainer`.

    constraints : rule, str or list of these, default=()
        What may change, and how; see :mod:`skcf.constraints`. A center has to keep
        them for every row that it serves. With ``location="any"`` rules between
        features may not read the row's own values, and `max_changes` is refused.

    cost : Cost or {"squared", "gower", "sparse", "mace"}, default="squared"
        What a change takes; see :class:`~skcf.costs.Cost`.

    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Columns without an order: by dtype, or by names, positions or a mask.

    resolution : "observed", None, float or dict, default="observed"
        The grid of numbers, as in :class:`~skcf.tabular.GeCoExplainer`.

    time_limit : float, default=None
        Seconds that a call may take. The best that was found until then is returned.

    random_state : int, RandomState instance or None, default=None
        Draws the starts.

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
    centers_ : table of shape (n_centers, n_features)
        With ``group="fit"``, the centers.

    n_features_in_ : int
        Number of columns seen in fit.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns seen in fit, where they have names.

    See Also
    --------
    OneForAllExplainer : One counterfactual for all rows.
    SparseOneForManyExplainer : As few as possible, with few changes each.

    Notes
    -----
    With ``location="any"`` rows are assigned and centers located in turn, from several
    starts drawn as in k-means++ among the training rows in the target. Locating a
    center is one exact problem: with a squared cost that of a single row in the middle
    of the cluster [1]_, with any other sum over features one whose values cost what
    they cost all rows together. The cost never rises from step to step; the result is
    a local optimum, and `optimal` is False. With ``location="observed"`` it is exact
    up to a million pairs of a row and a candidate, and beyond that restricted to the
    candidates that are cheapest for some row.

    References
    ----------
    .. [1] Carrizosa, E., Ramírez-Ayerbe, J., Romero Morales, D. (2024). Mathematical
       optimization modelling for group counterfactual explanations. European Journal
       of Operational Research, 319(2), 399-412. doi:10.1016/j.ejor.2024.01.002

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.group import OneForManyExplainer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> explainer = OneForManyExplainer(
    ...     DecisionTreeClassifier(max_depth=3, random_state=0),
    ...     target=1,
    ...     n_centers=2,
    ...     random_state=0,
    ... )
    >>> explained = explainer.fit(X, y).explain(X[:10])
    >>> len(explained.details.centers)
    2
    """

    _parameter_constraints = {
        **CenterExplainer._parameter_constraints,
        "n_centers": [Interval(Integral, 1, None, closed="left")],
        "location": [StrOptions({"any", "observed"})],
        "worst": ["boolean"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "group": [StrOptions({"call", "fit"})],
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
        n_centers=3,
        location="any",
        worst=False,
        n_init=5,
        group="call",
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
        self.n_centers = n_centers
        self.location = location
        self.worst = worst
        self.n_init = n_init
        self.group = group
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
        constraints=None,
        weights=None,
        cannot_link=None,
    ):
        """Return the counterfactuals of the rows, and which rows share which.

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
        cannot_link : array-like of shape (n_pairs, 2), default=None
            Positions of rows that must not share a counterfactual.

        Returns
        -------
        explanation : Explanation
            Its ``details`` have:

            - `centers`: the counterfactuals, a table like that given to `fit`;
            - `assignment`: the center of each row, -1 for none;
            - `total_cost`: the weighted cost of all rows, or the largest of a row;
            - `lower_bound`: what no choice of centers falls below, nan where nothing
              is proved;
            - `n_calls`, `n_rows`, `seconds`: as of the other explainers.
        """
        return self._explain(
            X,
            target,
            n_counterfactuals,
            constraints=constraints,
            weights=check_weights(weights, len(X)),
            apart=check_pairs(cannot_link, len(X)),
        )

    def _fit_search(self, X):
        if self.worst and self.location == "any":
            raise ValueError("worst=True needs location='observed'; got 'any'.")
        super()._fit_search(X)
        self._located_codes = None
        if self.group == "fit":
            query = self._open(X, None)
            rows = np.flatnonzero(query.status == "")
            answers = self._search(query, rows, 1, query.meter())
            self.centers_ = answers.whole["centers"]
            self._located_codes = self._space.encode(self.centers_)

    def _find(self, group):
        if self._located_codes is not None:
            price = self._prices(group, self._located_codes)
            taken, total = assign(price, group.weight, group.apart)
            return Centers(self._located_codes, taken, total), False
        if self.location == "observed":
            return self._sites(group, self.n_centers, self.worst)
        return self._moved(group, self.n_centers, self.n_init), False


def check_weights(weights, n):
    """Return weights of rows as an array, None if there are none."""
    if weights is None:
        return None
    weights = check_array(weights, ensure_2d=False, dtype=np.float64)
    if weights.shape != (n,) or (weights < 0).any():
        raise ValueError(
            f"weights must be {n} numbers of at least 0, one a row; got "
            f"{weights.shape} from {weights.min():g} on."
        )
    return weights


def check_pairs(pairs, n):
    """Return pairs of rows as a mask of shape (n, n_pairs), None if there are none."""
    if pairs is None:
        return None
    pairs = np.asarray(pairs)
    ok = pairs.ndim == 2 and pairs.shape[1] == 2 and pairs.dtype.kind in "iu"
    ok = ok and (pairs >= 0).all() and (pairs < n).all()
    if not ok or (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError(
            "cannot_link must be pairs of two different positions of rows, from 0 to "
            f"{n - 1}; got {pairs.tolist()!r}."
        )
    out = np.zeros((n, len(pairs)), dtype=bool)
    out[pairs.T, np.arange(len(pairs))] = True
    return out
