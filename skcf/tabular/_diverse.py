"""Several counterfactuals that are near and diverse, as in DiCE."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval

from skcf._base import Answers, TabularExplainer
from skcf._index import TrainingRows
from skcf._search import (
    GeneticSearch,
    Pool,
    change_sets,
    choose_sets,
    dearer,
    distinct,
    diverse,
    finish,
    shrink,
    starts_of,
)

N_UNLIKE = 20
N_FINISHED = 3
N_SHRUNK = 40


class DiverseExplainer(TabularExplainer):
    r"""A set of counterfactuals for each row that are near to it and diverse.

    Many counterfactuals are searched for, and of these a set is chosen that is near to
    the row and whose members are far from one another, by the objective of DiCE.

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

    proximity_weight : float, default=0.5
        Weight of the mean cost of the set.

    diversity_weight : float, default=1.0
        Weight of its determinantal diversity.

    q : int, default=100
        Candidates of a row that survive a generation of the search.

    max_generations : int, default=5
        The most generations of the search.

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
    GeCoExplainer : The search behind this explainer; its answers are near, not diverse.

    Notes
    -----
    The objective is that of [1]_: of `k` counterfactuals :math:`c_1, \dots, c_k`,

    .. math::

        \frac{1}{k} \sum_i \mathrm{hinge}(c_i)
        + \lambda_1 \frac{1}{k} \sum_i \mathrm{cost}(x, c_i)
        - \lambda_2 \det K, \qquad K_{ij} = \frac{1}{1 + d(c_i, c_j)}

    What differs:

    - The model is a black box. Candidates come from the search of
      :class:`GeCoExplainer` and from the nearest training rows in the target, without
      needless changes; the set is chosen greedily and improved by exchanges.
    - Only counterfactuals are members, so the hinge loss of each is zero.
    - The `cost` is the explainer's; :math:`d` is the Gower distance.
    - The cheapest candidate is always a member, so that the first answer does not hang
      on how many are wanted. With one wanted, it is the set.

    It is a heuristic: where it finds nothing there may still be an answer.

    References
    ----------
    .. [1] Mothilal, R. K., Sharma, A., Tan, C. (2020). Explaining Machine Learning
       Classifiers through Diverse Counterfactual Explanations. Conference on Fairness,
       Accountability, and Transparency, 607-617. doi:10.1145/3351095.3372850

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.tabular import DiverseExplainer
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = DiverseExplainer(LogisticRegression(), random_state=0).fit(X, y)
    >>> explainer.explain([[1.0, 0.0]]).prediction
    array([1])
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "proximity_weight": [Interval(Real, 0, None, closed="left")],
        "diversity_weight": [Interval(Real, 0, None, closed="left")],
        "q": [Interval(Integral, 1, None, closed="left")],
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
        proximity_weight=0.5,
        diversity_weight=1.0,
        q=100,
        max_generations=5,
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
        self.proximity_weight = proximity_weight
        self.diversity_weight = diversity_weight
        self.q = q
        self.max_generations = max_generations
        self.max_evaluations = max_evaluations
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit_search(self, X):
        self._training = TrainingRows.learn(self._model, self._space, X)

    def _solve(self, problem, rows, k):
        search = GeneticSearch(
            problem,
            q=self.q,
            k=5,
            m_init=20,
            m_mut=5,
            mutate="best",
            max_generations=self.max_generations,
            rescue=None if problem.quick else self._unlike,
        )
        pool = search.run(rows)
        if problem.quick:
            return self._pool_answers(problem, pool, k)
        best = finish(problem, pool, rows, N_FINISHED)
        if k == 1:
            return self._pool_answers(problem, best, 1)
        far = problem.score(self._unlike(problem, rows))
        lawful = problem.ground.mask(far.cands)
        others = shrink(problem, Pool.concat([pool, far.take(lawful)]), N_SHRUNK + k)
        pool = distinct(problem, dearer(problem, best, others), N_SHRUNK + k)
        return self._chosen(problem, pool, k)

    def _unlike(self, problem, rows):
        return starts_of(problem, self._training, rows, N_UNLIKE)

    def _chosen(self, problem, pool, k):
        """Return the sets, then the other candidates in case a judge turns one down."""
        pool = pool.take(problem.order(pool))
        at = choose_sets(
            problem,
            pool,
            k,
            proximity=self.proximity_weight,
            diversity=self.diversity_weight,
        )
        (kind,) = change_sets(problem, pool.cands)
        at = at[diverse(pool.row[at], kind[at], k)]
        at = np.concatenate([at, np.setdiff1d(np.arange(len(pool)), at)])
        pool = pool.take(at[np.argsort(pool.row[at], kind="stable")])
        codes = pool.cands.codes(problem.x, problem.values)
        return Answers(pool.row, codes, problem.cut)
