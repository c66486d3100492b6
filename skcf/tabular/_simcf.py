"""SimCF: a random walk, one feature after another."""

from numbers import Integral

from sklearn.utils._param_validation import Interval

from skcf._base import TabularExplainer
from skcf._search import walk_randomly


class SimCFExplainer(TabularExplainer):
    """Random walk to a counterfactual: features in random order, each set once.

    At each step some values of the next feature are drawn, and the fittest is taken if
    it is fitter than staying. The walk ends in the target. A baseline that shows what
    little search there has to be; it fails now and then.

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

    n_samples : int, default=5
        Values drawn for a feature.

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
    GeCoExplainer : The search that was compared with this one.

    Notes
    -----
    After the simple baseline of the comparison in [1]_. What differs:

    - A step that makes a row less fit is not taken. The fitness is the `cost`, plus the
      probability that is lacking; rows in the target come first.
    - A change that breaks a rule is repaired where that is possible.

    It is a heuristic: where it finds nothing there may still be an answer.

    References
    ----------
    .. [1] Schleich, M., Geng, Z., Zhang, Y., Suciu, D. (2021). GeCo: Quality
       Counterfactual Explanations in Real Time. Proceedings of the VLDB Endowment,
       14(9), 1681-1693. doi:10.14778/3461535.3461555

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.tabular import SimCFExplainer
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = SimCFExplainer(LogisticRegression(), random_state=0).fit(X, y)
    >>> explainer.explain([[1.0, 0.0]]).prediction
    array([1])
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "n_samples": [Interval(Integral, 1, None, closed="left")],
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
        n_samples=5,
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
        self.n_samples = n_samples
        self.max_evaluations = max_evaluations
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _solve(self, problem, rows, k):
        pool = walk_randomly(problem, rows, self.n_samples)
        return self._pool_answers(problem, pool, k)
