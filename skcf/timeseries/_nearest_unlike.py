"""The nearest training series that the model decides otherwise."""

import numpy as np

from skcf._base import SeriesExplainer
from skcf._series import Rays, SeriesIndex

N_HALVINGS = 20


class NearestUnlikeSeriesExplainer(SeriesExplainer):
    """Nearest training series in the target, drawn towards the series to explain.

    Of the training series that the model predicts in the target, the nearest one is
    looked up exactly. Then the line from the series to it is halved until the boundary
    is found: the counterfactual lies just behind it.

    Read more in the :ref:`User Guide <timeseries>`.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor of series to explain. It is cloned and fitted in `fit`;
        pass a fitted one as ``FrozenEstimator(model)``.

    target : "opposite", label, (low, high) or array-like, default="opposite"
        What a series is to become: any class but the one predicted, a class, or for a
        regressor a closed interval (None for an open end).

    threshold : float in (0, 1], default=None
        The least probability of the target, on top of being predicted in it.

    bisect : bool, default=True
        Whether to halve the line; otherwise the training series itself is returned.

    metric : {"euclidean", "dtw"}, default="euclidean"
        The distance. Dynamic time warping needs tslearn.

    window : int, default=None
        How many steps of time may be warped at most; for ``metric="dtw"``.

    channel_axis : {1, 2}, default=2
        Which axis of an array with three axes holds the channels: by default the shape
        is (n_series, n_times, n_channels), with 1 it is (n_series, n_channels,
        n_times).

    time_limit : float, default=None
        Seconds that a call may take; lines are halved less often then.

    random_state : int, RandomState instance or None, default=None
        Not used: the method has no chance in it.

    n_jobs : int, default=None
        Number of jobs over blocks of series.

    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model.

    classes_ : ndarray of shape (n_classes,)
        The classes of a classifier.

    train_index_ : ndarray of shape (n_series,)
        The index labels of the training series; positions where there is no index.

    n_features_in_ : int
        Length of the second axis of the series seen in fit.

    feature_names_in_ : ndarray of shape (n_times,)
        Names of the columns seen in fit, where they have names.

    See Also
    --------
    PrototypeExplainer : The nearest mixture with any training series.

    Notes
    -----
    The cost is the squared distance. Under dynamic time warping a bound after
    Keogh [1]_ decides which distances have to be computed. A line may enter the target
    more than once: halving finds one of the entries. The answer is a heuristic, and
    the training series can be told from it and the query.

    References
    ----------
    .. [1] Keogh, E., Ratanamahatana, C. A. (2005). Exact indexing of dynamic time
       warping. Knowledge and Information Systems, 7(3), 358-386.
       doi:10.1007/s10115-004-0154-9

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.timeseries import NearestUnlikeSeriesExplainer
    >>> X = np.array([[0.0, 0, 0], [0, 1, 0], [0, 4, 0], [0, 5, 0]])
    >>> explainer = NearestUnlikeSeriesExplainer(DecisionTreeClassifier(), bisect=False)
    >>> explainer.fit(X, [0, 0, 1, 1]).transform(X[:1])
    array([[0., 4., 0.]])
    """

    _parameter_constraints = {
        **SeriesExplainer._parameter_constraints,
        "bisect": ["boolean"],
    }

    def __init__(
        self,
        estimator,
        *,
        target="opposite",
        threshold=None,
        bisect=True,
        metric="euclidean",
        window=None,
        channel_axis=2,
        time_limit=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.target = target
        self.threshold = threshold
        self.bisect = bisect
        self.metric = metric
        self.window = window
        self.channel_axis = channel_axis
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def explain(self, X, *, target=None, n_counterfactuals=1):
        """Return the counterfactuals of every series with all that is known of them.

        Parameters
        ----------
        X : {array-like, dataframe} of the shape given to `fit`
            The series to explain.
        target : label, array-like of shape (n_series,) or (n_series, 2), default=None
            What each series is to become; None uses the `target` of the explainer.
        n_counterfactuals : int, default=1
            The most counterfactuals of a series: one for each of its nearest training
            series, in the order of their distance.

        Returns
        -------
        explanation : Explanation
            Its ``details`` have, for each counterfactual, `train_position` and
            `train_index` (position and index label of the training series) and
            `weight` (how far along the line to it, in (0, 1]), and of the call
            `n_calls` and `n_rows` (calls of the model and series in them) and
            `seconds`.
        """
        explanation = super().explain(
            X, target=target, n_counterfactuals=n_counterfactuals
        )
        details = explanation.details
        details.train_index = self.train_index_[details.train_position]
        return explanation

    def _fit_search(self):
        self._index = SeriesIndex(self._cost, self._train)

    def _extras(self):
        return {"train_position": np.intp, "weight": np.float64}

    def _solve(self, query, rows, k, meter):
        goal, x = query.goal.take(rows), query.state.codes[rows]
        row, position = [], []
        for at, pool in self._pools(goal, sure=self.threshold is not None):
            for i in at if len(pool) else ():
                near = self._index.nearest(x[i], pool, k + 2)
                row.append(np.full(len(near), i))
                position.append(near)
        row = np.concatenate(row) if row else np.empty(0, dtype=np.intp)
        order = np.argsort(row, kind="stable")
        row = row[order]
        position = np.concatenate(position)[order] if len(row) else row
        d = self._train[position] - x[row]
        mu = np.ones(len(row))
        if self.bisect:
            rays = Rays(self._model, self._space, self._cost, x, goal, meter)
            mu = rays.halve(row, d, np.zeros(len(row)), mu, N_HALVINGS)
        codes = np.where(
            mu[:, None] < 1, x[row] + mu[:, None] * d, self._train[position]
        )
        return self._answers(
            query, rows, row, codes, k, train_position=position, weight=mu
        )
