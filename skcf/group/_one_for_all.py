"""One counterfactual for all rows of a group."""

import numpy as np
from sklearn.utils._param_validation import StrOptions

from skcf.group._center_explainer import CenterExplainer
from skcf.group._centers import Centers
from skcf.group._one_for_many import check_weights


class OneForAllExplainer(CenterExplainer):
    """One counterfactual for all rows of a group.

    The point that the model decides for and that all rows together reach at the least
    cost: a benchmark for the group.

    Read more in the :ref:`User Guide <group>`.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor to explain. It is cloned and fitted in `fit`; pass a
        fitted one as ``FrozenEstimator(model)``. With ``location="any"`` it has to be
        a tree, an ensemble of trees, a linear model or a network of rectified linear
        units, behind steps that encode column by column.

    location : {"any", "observed"}, default="any"
        Where the counterfactual may lie: anywhere in the feature space, or only at a
        training row (an endogenous counterfactual).

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
    n_features_in_ : int
        Number of columns seen in fit.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns seen in fit, where they have names.

    See Also
    --------
    OneForManyExplainer : Several counterfactuals.

    Notes
    -----
    Locating the point is one exact problem: with a squared cost that of a single row
    in the middle of the group [1]_, with any other sum over features one whose values
    cost what they cost all rows together. `optimal` says that the total cost is proved
    to be the least. If there is no point for all rows, all of them are infeasible.

    References
    ----------
    .. [1] Carrizosa, E., Ramírez-Ayerbe, J., Romero Morales, D. (2024). Mathematical
       optimization modelling for group counterfactual explanations. European Journal
       of Operational Research, 319(2), 399-412. doi:10.1016/j.ejor.2024.01.002

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.group import OneForAllExplainer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0)
    >>> explained = OneForAllExplainer(model, target=1).fit(X, y).explain(X[:10])
    >>> len(explained.details.centers), bool(explained.optimal.all())
    (1, True)
    """

    _parameter_constraints = {
        **CenterExplainer._parameter_constraints,
        "location": [StrOptions({"any", "observed"})],
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
        location="any",
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
        self.location = location
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
    ):
        """Return the counterfactual of the rows.

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
            Its ``details`` have:

            - `centers`: the counterfactual, a table like that given to `fit`;
            - `assignment`: 0 for each row that has it, -1 for the others;
            - `total_cost`: the weighted cost of all rows;
            - `lower_bound`: what no point for all rows falls below;
            - `n_calls`, `n_rows`, `seconds`: as of the other explainers.
        """
        return self._explain(
            X,
            target,
            n_counterfactuals,
            constraints=constraints,
            weights=check_weights(weights, len(X)),
        )

    def _find(self, group):
        n = len(group.x)
        nobody = Centers(group.x[:0], np.full(n, -1), 0.0)
        if len(np.unique(group.kind)) > 1:
            # A point is in one outcome, and these rows want several.
            return nobody, True
        if self.location == "observed":
            codes, price = self._observed(group)
            total = (price * group.weight[:, None]).sum(axis=0)
            if not np.isfinite(total.min(initial=np.inf)):
                return nobody, True
            return self._shared(group, codes[total.argmin()]), True
        point, bound = self._located(group, np.arange(n))
        if point is None:
            return nobody, bool(np.isposinf(bound))
        found = self._shared(group, point, bound)
        return found, not (found.assignment < 0).any()

    def _shared(self, group, point, bound=None):
        """Return the Centers of one point for all rows; without a bound it is best."""
        price = self._prices(group, point[None, :])
        taken = np.zeros(len(price), dtype=np.intp)
        if not np.isfinite(price).all():
            return Centers(point[None, :], taken - 1, 0.0)
        total = float((group.weight * price[:, 0]).sum())
        least = total if bound is None else bound
        return Centers(point[None, :], taken, total, least)
