"""The nearest unlike row's values, in the order of SHAP values."""

import warnings
from numbers import Integral
from threading import Lock

import numpy as np
from sklearn.utils._param_validation import Interval

from skcf._base import TabularExplainer
from skcf._index import TrainingRows
from skcf._search import dearer, ends_of, walk_in_order

_SEEDING = Lock()


class SHAPOrderExplainer(TabularExplainer):
    """Values of the nearest training row in the target, in the order of SHAP values.

    The features that speak most against the target, by their SHAP values for the row,
    are set first to the values of its nearest unlike row, until the target is reached.
    A baseline; it needs the package shap (the extra ``shap``).

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

    n_background : int, default=50
        Training rows that stand for absent features when SHAP values are computed.

    n_permutations : int, default=5
        Orders of the features, and as many reversed ones, that are looked at.

    max_evaluations : int, default=None
        The most rows that the model is asked about for a row to explain.

    time_limit : float, default=None
        Seconds that a call may take; what was found until then is returned.

    random_state : int, RandomState instance or None, default=None
        Determines the draws. The answer to a row hangs on this and on the row alone.

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
    GreedyExplainer : Looks at the model again after each step.

    Notes
    -----
    After the SHAP-based method of [1]_. SHAP values of the probability of the target
    (or of what stands in for it) are estimated by permutations [2]_; columns that are
    taken together have the sum of their values. What differs:

    - The neighbour is the nearest by the `cost` that keeps all rules. Where no training
      row does, it is the nearest in the target, copied as far as rules allow.
    - On the way rules may be broken; a row that reaches the target counts if it keeps
      all of them.
    - Where several answers are wanted, walks to the next neighbours follow. What they
      find comes behind the answer of the first walk, however cheap it is.

    The model is asked about `n_background` rows for each of
    ``2 * n_permutations * n_features`` coalitions of each row: the other explainers are
    faster. It is a heuristic: where it finds nothing there may still be an answer.

    References
    ----------
    .. [1] Rathi, S. (2019). Generating Counterfactual and Contrastive Explanations
       using SHAP. doi:10.48550/arXiv.1906.09293
    .. [2] Lundberg, S. M., Lee, S.-I. (2017). A Unified Approach to Interpreting Model
       Predictions. Advances in Neural Information Processing Systems, 30.
       doi:10.48550/arXiv.1705.07874

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.tabular import SHAPOrderExplainer
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = SHAPOrderExplainer(LogisticRegression(), random_state=0).fit(
    ...     X, y
    ... )  # doctest: +SKIP
    >>> explainer.explain([[1.0, 0.0]]).prediction  # doctest: +SKIP
    array([1])
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "n_background": [Interval(Integral, 1, None, closed="left")],
        "n_permutations": [Interval(Integral, 1, None, closed="left")],
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
        n_background=50,
        n_permutations=5,
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
        self.n_background = n_background
        self.n_permutations = n_permutations
        self.max_evaluations = max_evaluations
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_search(self, X):
        _shap()
        self._training = TrainingRows.learn(self._model, self._space, X)
        last = len(self._training) - 1
        at = np.unique(np.linspace(0, last, self.n_background).astype(np.intp))
        self._background = self._training.codes[at]

    def _solve(self, problem, rows, k):
        first, others = ends_of(problem, self._training, rows, k)
        value = np.zeros((len(problem), len(problem.space.groups)))
        for row in first.row:
            if problem.meter.expired:
                break
            value[row] = self._values(problem, row)
        order = np.argsort(np.round(value, 9), axis=1, kind="stable")
        pool = walk_in_order(problem, first, order[first.row])
        if k > 1:
            others = walk_in_order(problem, others, order[others.row])
            pool = dearer(problem, pool, others)
        return self._pool_answers(problem, pool, k)

    def _values(self, problem, row):
        """Return the SHAP value of each group for the target of a query."""
        shap, x = _shap(), problem.x[row]

        def chance(codes):
            return problem.chance(np.full(len(codes), row), codes)

        masker = shap.maskers.Independent(self._background, len(self._background))
        seed = int(problem.seed[row] >> np.uint64(33))
        n_calls = self.n_permutations * (2 * len(x) + 1)
        # The package seeds numpy's global generator, which is not ours to change.
        with _SEEDING:
            state = np.random.get_state()
            try:
                explainer = shap.PermutationExplainer(chance, masker, seed=seed)
                told = explainer(x[None], max_evals=n_calls, silent=True).values[0]
            finally:
                np.random.set_state(state)
        return np.bincount(problem.space.group_of, told)


def _shap():
    try:
        with warnings.catch_warnings():
            # Those of the packages that it imports are no business of the user.
            warnings.simplefilter("ignore")
            import shap
    except ImportError:
        raise ImportError(
            "SHAPOrderExplainer needs shap; install it with: pip install skcf[shap]"
        ) from None
    return shap
