"""The nearest training row that the model decides otherwise."""

import numpy as np
from sklearn.utils._param_validation import StrOptions

from skcf._base import Answers, TabularExplainer
from skcf._index import CostPoints, TrainingRows, check_method
from skcf._search import diverse
from skcf._space import container_of

MAX_PAIRS = 2_000_000


class NearestUnlikeExplainer(TabularExplainer):
    """Nearest training row in the target that satisfies the rules.

    The answer is a row that was really observed (an endogenous counterfactual, a
    nearest unlike neighbour): of the training rows that the model predicts in the
    target and that keep every rule for the query, the one of least cost.

    Read more in the :ref:`User Guide <nearest_unlike>`.

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
        The grid of numbers, as in :class:`GeCoExplainer`. Training rows are returned
        as they are, so here it only tells which dtypes can hold a column.

    index : {"auto", "exact", "hnsw"}, default="auto"
        "exact" compares with all training rows. "hnsw" takes the rows to compare from
        a graph of hnswlib (the extra ``index``). "auto" does so from 300,000 distinct
        rows on, if hnswlib is installed.

    time_limit : float, default=None
        Not needed: there is no search that could be cut. Accepted for uniformity.

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

    train_index_ : ndarray of shape (n_samples,)
        The index labels of the training rows; positions where there is no index.

    n_features_in_ : int
        Number of columns seen in fit.

    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns seen in fit, where they have names.

    See Also
    --------
    GeCoExplainer : Searches for nearer rows than those observed.

    Notes
    -----
    The method of the What-If Tool [1]_, with rules and any cost. It is exact among the
    training rows, and says nothing of other points: without a fitting training row the
    status is "not_found". Distances are computed to all training rows; time grows with
    their number. A row of the training data is returned, which discloses it.

    With a graph the answer can be a little farther than the nearest row: the graph
    ranks rows by a Euclidean distance that is like the cost, some hundred rows that
    keep all rules are taken from it, and these are compared by the cost itself. Where
    the graph knows too few rows that keep the rules, all rows are looked at, so that an
    answer is never missed. Several answers for a row are always chosen among all rows.

    References
    ----------
    .. [1] Wexler, J., Pushkarna, M., Bolukbasi, T., Wattenberg, M., Viegas, F.,
       Wilson, J. (2020). The What-If Tool: Interactive Probing of Machine Learning
       Models. IEEE Transactions on Visualization and Computer Graphics, 26(1), 56-65.
       doi:10.1109/TVCG.2019.2934619

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.tabular import NearestUnlikeExplainer
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0], [9.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = NearestUnlikeExplainer(DecisionTreeClassifier()).fit(X, y)
    >>> explainer.transform([[1.0, 5.0]])
    array([[6., 5.]])
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "index": [StrOptions({"auto", "exact", "hnsw"})],
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
        index="auto",
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
        self.index = index
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
        """Return the nearest training rows of every row with what is known of them.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows to explain, in the columns given to `fit`.
        target : label, array-like of shape (n_samples,) or (n_samples, 2), default=None
            What each row is to become; None uses the `target` of the explainer.
        n_counterfactuals : int, default=1
            The most training rows a row gets; equal rows count once. Those that change
            other features than nearer ones come first.
        min_distance : float, default=None
            The least Gower distance (by the ranges of the training rows, whatever the
            `cost` is) between two training rows that a row gets.
        constraints : rule, str or list of these, default=None
            Rules that hold in this call on top of those of the explainer.

        Returns
        -------
        explanation : Explanation
            Its ``details`` have what every tabular explainer gives, and of the
            training rows that are returned:

            - `train_position`: the position of each counterfactual among them;
            - `train_index`: its index label (the position where there is no index).
        """
        explanation = super().explain(
            X,
            target=target,
            n_counterfactuals=n_counterfactuals,
            min_distance=min_distance,
            constraints=constraints,
        )
        position = explanation.details.train_position
        explanation.details.train_index = self.train_index_[position]
        return explanation

    def _fit_search(self, X):
        check_method(self.index)
        self._training = TrainingRows.learn(self._model, self._space, X)
        points = CostPoints(self._space, self._cost, self._rules)
        self._training.index(points, self.index)
        self.train_index_ = container_of(X).index(X)
        self._check_reachable()

    def _check_reachable(self):
        """Raise if the class that all rows are to reach has no training row."""
        if self._model.regression or np.ndim(self.target):
            return
        seen = np.unique(self._training.prediction)
        wanted = np.flatnonzero(self.classes_ == self.target)
        if len(wanted) and wanted[0] not in seen:
            raise ValueError(
                f"No training row is predicted in the target {self.target!r}; they are "
                f"predicted in {self.classes_[seen].tolist()}. A nearest unlike row "
                "needs training rows in the target."
            )

    def _extras(self):
        return {"train_position": np.intp}

    def _solve(self, problem, rows, k):
        # With several to return, all rows are looked at: those that change other
        # features than nearer ones come first, however far they are.
        most = k + 1 if k == 1 else len(self._training)
        step = max(1, MAX_PAIRS // most)
        lots = [
            self._nearest(problem, rows[begin : begin + step], most, k)
            for begin in range(0, len(rows), step)
        ]
        row, at = np.concatenate([np.empty((2, 0), dtype=np.intp), *lots], axis=1)
        extra = {"train_position": self._training.position[at]}
        return Answers(row, self._training.codes[at], problem.cut, extra)

    def _nearest(self, problem, rows, most, k):
        """Return (query, training row) of the answers to some queries, in order."""
        who, at = self._training.nearest(
            problem.x[rows],
            problem.goal.take(rows),
            problem.cost,
            most,
            problem.ground.rules,
            None if problem.ground.lifted is None else problem.ground.lifted[rows],
        )
        row = rows[who]
        codes, x = self._training.codes[at], problem.x[row]
        changed = ~((codes == x) | (np.isnan(codes) & np.isnan(x)))
        kind = np.unique(changed, axis=0, return_inverse=True)[1].ravel()

        def distance(a, b):
            return problem.ruler.rows(codes[a], codes[b])

        order = diverse(row, kind, k + 1, distance, problem.apart)
        return np.stack([row[order], at[order]])
