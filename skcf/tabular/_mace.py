"""MACE: policies over the features of neighbours."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skcf._base import TabularExplainer
from skcf._index import BinnedRows, TrainingRows, check_method
from skcf._search import (
    Deck,
    Pool,
    brought_nearer,
    descend,
    edits_of,
    play_first,
    play_samples,
    reinforce,
    rescued,
)
from skcf._space import Candidates

N_UNLIKE = 50


class MACEExplainer(TabularExplainer):
    r"""Counterfactuals from what neighbours in the target have, by a policy.

    The nearest training rows that the model predicts in the target say which features
    may be worth changing and to which values. A policy over these edits is optimised
    for each row; its preferred changes and samples that reach the target are brought
    nearer. The policy is an explanation in its own right: which changes matter here.

    Read more in the :ref:`User Guide <mace>`.

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
        What a change takes; see :class:`~skcf.costs.Cost`. The paper has ``"mace"``.

    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Columns without an order: by dtype, or by names, positions or a mask.

    resolution : "observed", None, float or dict, default="observed"
        The grid of numbers: the decimals seen in the training rows, none, or a step;
        a dict sets it for single columns.

    optimizer : {"rl", "gld"}, default="rl"
        How the policy is optimised: by REINFORCE, or by gradient-less descent.

    n_neighbors : int, default=30
        Training rows in the target that say what to change (`K` in the paper).

    n_columns : int, default=10
        Features that may be changed (`s`).

    n_values : int, default=3
        Values of each of them (`m`).

    n_bins : int, default=10
        Quantile bins of a number when rows are compared.

    max_features : int, default=8
        The most features that the policy changes once it is optimised (`w`).

    learning_rate : float, default=0.1
        Step size of Adam.

    batch_size : int, default=40
        Actions of a row in an epoch.

    epochs : int, default=15
        Steps of Adam.

    lambda1 : float, default=2.0
        Weight of the number of changes.

    lambda2 : float, default=2.0
        Weight of the entropy.

    n_samples : int, default=80
        Actions drawn from the optimised policy of a row (`B`).

    min_saving : float in [0, 1), default=1/3
        The share of the cost that each further change has to save for an answer to come
        before one of fewer changes. 0 puts the cheapest first.

    k_diverse : int, default=3
        The most answers that change the same feature, as long as there are others.

    n_steps : int, default=20
        Steps of gradient-less descent (`T`), on numbers and with "gld" on the policy.

    radius : float, default=0.25
        The largest radius of its balls, in ranges of the training rows (`R`).

    min_radius : float, default=0.0005
        The smallest one (`r`).

    finish : bool, default=True
        Whether the local search that explainers share follows; it is not in the paper.

    index : {"auto", "exact", "hnsw"}, default="auto"
        How neighbours are found: among all training rows, or by a graph of hnswlib (the
        extra ``index``), which "auto" takes from 300,000 distinct rows of a class on.

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
    GeCoExplainer : Genetic search; its values are not limited to those of neighbours.

    Notes
    -----
    The method is that of [1]_, and a heuristic: an answer is valid and keeps the rules,
    but a nearer one may exist. What differs most (the User Guide has the rest):

    - The entropy is that of the choice of features, averaged over them, as the penalty
      is. Limits keep probabilities in [0.1, 0.8], and those of values below 0.85.
    - Changes that are not needed are undone. Only answers that were kept count for
      `k_diverse`. The paper ranks answers by the number of changes and the distance
      together; here a further change has to save `min_saving` of the cost.
    - Where the policy finds nothing with `max_features` changes at most, edits are
      added greedily. Where there still is nothing, near training rows in the target
      lead on, and the search of :class:`GeCoExplainer`.

    References
    ----------
    .. [1] Yang, W., Li, J., Xiong, C., Hoi, S. C. H. (2022). MACE: An Efficient
       Model-Agnostic Framework for Counterfactual Explanation.
       doi:10.48550/arXiv.2205.15540

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.constraints import fixed
    >>> from skcf.tabular import MACEExplainer
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = MACEExplainer(
    ...     LogisticRegression(), constraints=[fixed(1)], random_state=0
    ... )
    >>> explainer.fit(X, y).transform([[1.0, 0.0]])
    array([[3., 0.]])
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "optimizer": [StrOptions({"rl", "gld"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_columns": [Interval(Integral, 1, None, closed="left")],
        "n_values": [Interval(Integral, 1, None, closed="left")],
        "n_bins": [Interval(Integral, 2, None, closed="left")],
        "max_features": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 0, None, closed="left")],
        "lambda1": [Interval(Real, 0, None, closed="left")],
        "lambda2": [Interval(Real, 0, None, closed="left")],
        "n_samples": [Interval(Integral, 0, None, closed="left")],
        "min_saving": [Interval(Real, 0, 1, closed="left")],
        "k_diverse": [Interval(Integral, 1, None, closed="left")],
        "n_steps": [Interval(Integral, 0, None, closed="left")],
        "radius": [Interval(Real, 0, None, closed="neither")],
        "min_radius": [Interval(Real, 0, None, closed="neither")],
        "finish": ["boolean"],
        "index": [StrOptions({"auto", "exact", "hnsw"})],
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
        optimizer="rl",
        n_neighbors=30,
        n_columns=10,
        n_values=3,
        n_bins=10,
        max_features=8,
        learning_rate=0.1,
        batch_size=40,
        epochs=15,
        lambda1=2.0,
        lambda2=2.0,
        n_samples=80,
        min_saving=1 / 3,
        k_diverse=3,
        n_steps=20,
        radius=0.25,
        min_radius=0.0005,
        finish=True,
        index="auto",
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
        self.optimizer = optimizer
        self.n_neighbors = n_neighbors
        self.n_columns = n_columns
        self.n_values = n_values
        self.n_bins = n_bins
        self.max_features = max_features
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.n_samples = n_samples
        self.min_saving = min_saving
        self.k_diverse = k_diverse
        self.n_steps = n_steps
        self.radius = radius
        self.min_radius = min_radius
        self.finish = finish
        self.index = index
        self.max_evaluations = max_evaluations
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
    ):
        """Return the counterfactuals of every row, and the policies behind them.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows to explain, in the columns given to `fit`.
        target : label, array-like of shape (n_samples,) or (n_samples, 2), default=None
            What each row is to become; None uses the `target` of the explainer.
        n_counterfactuals : int, default=1
            The most counterfactuals of a row. They are distinct; those that change
            different features come first, by the cost that `min_saving` weighs.
        min_distance : float, default=None
            The least Gower distance (by the ranges of the training rows, whatever the
            `cost` is) between two counterfactuals of a row.
        constraints : rule, str or list of these, default=None
            Rules that hold in this call on top of those of the explainer.

        Returns
        -------
        explanation : Explanation
            Its ``details`` have what every tabular explainer gives, and

            - `policy`: for each row a list of dicts, the most probable change first:
              the `feature` (a tuple of names where columns are taken together), its
              `probability` to be changed, and the `values` it may get with their
              `value_probabilities`; scores in [0, 1] with ``optimizer="gld"``. None
              where there was nothing to search.
        """
        return super().explain(
            X,
            target=target,
            n_counterfactuals=n_counterfactuals,
            min_distance=min_distance,
            constraints=constraints,
        )

    def _fit_search(self, X):
        check_method(self.index)
        if self.min_radius > self.radius:
            raise ValueError(
                f"min_radius={self.min_radius} must not be above radius={self.radius}."
            )
        self._training = TrainingRows.learn(self._model, self._space, X)
        self._binned = BinnedRows(self._training, self._rules, self.n_bins, self.index)

    def _nothing(self, query):
        answers = super()._nothing(query)
        answers.by_row["policy"] = np.full(len(query), None, dtype=object)
        return answers

    def _solve(self, problem, rows, k):
        edits = edits_of(
            problem,
            self._binned,
            rows,
            n_neighbors=self.n_neighbors,
            n_columns=self.n_columns,
            n_values=self.n_values,
        )
        deck = Deck(problem, edits)
        origin = problem.score(Candidates.unchanged(rows))
        policy = None if problem.quick else self._optimised(deck)
        pool = rescued(deck, self.max_features, self._unlike)
        if problem.quick:
            return self._pool_answers(problem, pool, k)
        pool = brought_nearer(
            problem,
            Pool.concat([origin, pool]),
            rows,
            k,
            finishing=self.finish,
            most=self.k_diverse,
            min_saving=self.min_saving,
            n_steps=self.n_steps,
            radius=self.radius,
            min_radius=self.min_radius,
        )
        answers = self._pool_answers(problem, pool, k)
        answers.by_row["policy"] = told = np.full(len(problem), None, dtype=object)
        told[rows] = policy.described(problem, edits)
        return answers

    def _optimised(self, deck):
        """Return the policy of each row, and play what it prefers."""
        if self.optimizer == "rl":
            policy = reinforce(
                deck,
                learning_rate=self.learning_rate,
                batch_size=self.batch_size,
                epochs=self.epochs,
                lambda1=self.lambda1,
                lambda2=self.lambda2,
            )
        else:
            policy = descend(
                deck,
                n_steps=self.n_steps,
                radius=self.radius,
                min_radius=self.min_radius,
                most=self.max_features,
            )
        play_first(deck, policy, self.max_features)
        play_samples(deck, policy, self.max_features, self.n_samples)
        return policy

    def _unlike(self, problem, rows):
        """Return the nearest training rows in the target, as far as rules allow."""
        who, at = self._training.nearest(
            problem.x[rows], problem.goal.take(rows), problem.cost, N_UNLIKE
        )
        return problem.ground.towards(rows[who], self._training.codes[at])
