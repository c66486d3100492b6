"""CERTIFAI: a population of counterfactuals that gets nearer."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval

from skcf._base import TabularExplainer
from skcf._index import TrainingRows
from skcf._search import evolve, starts_of


class CERTIFAIExplainer(TabularExplainer):
    """Genetic search among counterfactuals, from training rows in the target.

    The first population are training rows that are counterfactuals already. Mutation
    and crossover change them, and the nearest ones survive. A baseline: it stays near
    whole training rows, so that answers tend to change many features.

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

    q : int, default=100
        Members of the population of a row: its nearest such training rows at first.

    p_mutate : float in [0, 1], default=0.2
        Chance of a member to be mutated in a generation.

    p_cross : float in [0, 1], default=0.5
        Chance of a member to exchange values with another one.

    max_generations : int, default=300
        The most generations. A row is through when its nearest member is the same for
        ten of them.

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
    GeCoExplainer : Starts from the row itself.
    NearestUnlikeExplainer : The first population's best.

    Notes
    -----
    After [1]_, as described there and in the comparison of [2]_, where the first
    population are all training rows that are counterfactuals and keep the rules. What
    differs:

    - The first population are the `q` nearest of these.
    - A mutation sets one feature: half of the time to a value drawn by frequency from
      the training rows, else to the query's own. Children that break a rule are
      repaired where that is possible.
    - Members are distinct, and the fitness is the `cost`.
    - A row without a training row that keeps the rules starts from the nearest ones in
      the target, copied as far as rules allow.

    It is a heuristic: where it finds nothing there may still be an answer.

    References
    ----------
    .. [1] Sharma, S., Henderson, J., Ghosh, J. (2020). CERTIFAI: A Common Framework to
       Provide Explanations and Analyse the Fairness and Robustness of Black-box Models.
       Proceedings of the AAAI/ACM Conference on AI, Ethics, and Society, 166-172.
       doi:10.1145/3375627.3375812
    .. [2] Schleich, M., Geng, Z., Zhang, Y., Suciu, D. (2021). GeCo: Quality
       Counterfactual Explanations in Real Time. Proceedings of the VLDB Endowment,
       14(9), 1681-1693. doi:10.14778/3461535.3461555

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.tabular import CERTIFAIExplainer
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = CERTIFAIExplainer(LogisticRegression(), random_state=0).fit(X, y)
    >>> explainer.explain([[1.0, 0.0]]).prediction
    array([1])
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "q": [Interval(Integral, 1, None, closed="left")],
        "p_mutate": [Interval(Real, 0, 1, closed="both")],
        "p_cross": [Interval(Real, 0, 1, closed="both")],
        "max_generations": [Interval(Integral, 0, None, closed="left")],
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
        q=100,
        p_mutate=0.2,
        p_cross=0.5,
        max_generations=300,
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
        self.q = q
        self.p_mutate = p_mutate
        self.p_cross = p_cross
        self.max_generations = max_generations
        self.max_evaluations = max_evaluations
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_search(self, X):
        self._training = TrainingRows.learn(self._model, self._space, X)

    def _solve(self, problem, rows, k):
        pool = evolve(
            problem,
            starts_of(problem, self._training, rows, self.q),
            q=max(self.q, k),
            p_mutate=self.p_mutate,
            p_cross=self.p_cross,
            max_generations=self.max_generations,
        )
        return self._pool_answers(problem, pool, k)
