"""Greedy steps towards the nearest unlike row, as in NICE."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skcf._base import TabularExplainer
from skcf._index import CostPoints, TrainingRows
from skcf._search import dearer, ends_of, walk_greedily

EPSILON = 1e-6
N_FIT = 20_000
VARIANCE = 0.9


class GreedyExplainer(TabularExplainer):
    """Greedy steps towards the nearest training row in the target.

    Starting at the row itself, one value after another is taken from its nearest unlike
    row: at each step the one of the highest reward, until the target is reached. A
    baseline that is fast, and finds a counterfactual where a training row is one.

    Read more in the :ref:`User Guide <baselines>`.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor to explain. It is cloned and fitted in `fit`; pass a
        fitted one as ``FrozenEstimator(model)``.

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
        The grid of numbers: the decimals seen in the training rows, none, or a step;
        a dict sets it for single columns.

    reward : {"sparsity", "proximity", "plausibility"}, default="sparsity"
        What is rewarded: the gain in probability; that gain for the cost that is added;
        or that gain times the fall of the reconstruction error.

    justified : bool, default=True
        Whether the unlike row has to be predicted as it is labelled in `y`. Ignored for
        regressors, and where `fit` was given no `y`.

    max_evaluations : int, default=None
        The most rows that the model is asked about for a row to explain.

    time_limit : float, default=None
        Seconds that a call may take; what was found until then is returned.

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
    NearestUnlikeExplainer : The row that the steps lead to.
    MACEExplainer : Looks at many neighbours, and at features together.
    SHAPOrderExplainer : Takes the features in the order of their SHAP values.

    Notes
    -----
    After NICE [1]_; the steps towards a neighbour are also the greedy method of [2]_.
    What differs:

    - The neighbour is the nearest by the `cost` that keeps all rules. Where no training
      row does, it is the nearest in the target, copied as far as rules allow.
    - On the way rules may be broken; a row that reaches the target counts if it keeps
      all of them.
    - Plausibility is measured by the error of a linear autoencoder (principal
      components that keep nine tenths of the variance) in place of a neural one.
    - Where several answers are wanted, walks to the next neighbours follow. What they
      find comes behind the answer of the first walk, however cheap it is.

    It is a heuristic: where it finds nothing there may still be an answer.

    References
    ----------
    .. [1] Brughmans, D., Leyman, P., Martens, D. (2024). NICE: an algorithm for nearest
       instance counterfactual explanations. Data Mining and Knowledge Discovery, 38,
       2665-2703. doi:10.1007/s10618-023-00930-y
    .. [2] Ates, E., Aksar, B., Leung, V. J., Coskun, A. K. (2021). Counterfactual
       Explanations for Multivariate Time Series. International Conference on Applied
       Artificial Intelligence. doi:10.1109/ICAPAI49758.2021.9462056

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.tabular import GreedyExplainer
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = GreedyExplainer(LogisticRegression(), random_state=0).fit(X, y)
    >>> explainer.explain([[1.0, 0.0]]).prediction
    array([1])
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "reward": [StrOptions({"sparsity", "proximity", "plausibility"})],
        "justified": ["boolean"],
        "max_evaluations": [Interval(Integral, 1, None, closed="left"), None],
    }
    _compiles = True

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
        reward="sparsity",
        justified=True,
        max_evaluations=None,
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
        self.reward = reward
        self.justified = justified
        self.max_evaluations = max_evaluations
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_model(self, X, y):
        super()._fit_model(X, y)
        self._right = None
        if self.justified and y is not None and not self._model.regression:
            self._right = np.ravel(np.asarray(y))

    def _fit_search(self, X):
        training = TrainingRows.learn(self._model, self._space, X)
        if self._right is not None:
            label = self._model.positions(self._right[training.position])
            training = training.take(label == training.prediction)
        self._training = training
        del self._right
        self._points = CostPoints(self._space, self._ruler)
        if self.reward == "plausibility":
            self._centre, self._axes = _plane(self._points(training.codes[:N_FIT]))

    def _solve(self, problem, rows, k):
        first, others = ends_of(problem, self._training, rows, k)

        def reward(before, after):
            return self._reward(problem, before, after)

        pool = walk_greedily(problem, first, reward)
        if k > 1:
            pool = dearer(problem, pool, walk_greedily(problem, others, reward))
        return self._pool_answers(problem, pool, k)

    def _reward(self, problem, before, after):
        """Return the rewards of steps."""
        short = problem.model.shortfall
        gain = short(before.margin) - short(after.margin)
        if self.reward == "proximity":
            return gain / (np.maximum(after.cost - before.cost, 0.0) + EPSILON)
        if self.reward == "plausibility":
            fall = self._error(problem, before) - self._error(problem, after)
            return gain * fall
        return gain

    def _error(self, problem, pool):
        """Return the errors of reconstruction."""
        points = self._points(pool.cands.codes(problem.x, problem.values))
        points = points - self._centre
        again = points @ self._axes.T @ self._axes
        return np.round(np.square(points - again).sum(axis=1), 9)


def _plane(points):
    """Return the centre of points and the axes that keep most of their variance."""
    points = points.astype(np.float64)
    centre = points.mean(axis=0)
    _, size, axes = np.linalg.svd(points - centre, full_matrices=False)
    share = np.cumsum(size**2) / max(np.sum(size**2), np.finfo(float).tiny)
    return centre, axes[: 1 + np.searchsorted(share, VARIANCE)]
