"""Counterfactual series that take whole parts from a training series."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skcf._base import SeriesExplainer
from skcf._series import (
    Rays,
    SeriesIndex,
    Swaps,
    swap_by_climbing,
    swap_by_policy,
    swap_greedily,
)

N_WINDOWS = 12


class ChannelSwapExplainer(SeriesExplainer):
    """Swaps whole channels, or stretches of time, for those of a training series.

    A distractor is one of the nearest training series that the model predicts in the
    target. The parts of the series that are swapped for those of a distractor are to
    be few. Parts are channels or, where `n_windows` cuts time, stretches of them; a
    series with one channel is cut by default.

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

    strategy : {"policy", "greedy", "climb"}, default="policy"
        How the parts are chosen: by a policy learned for each series, with the fewest
        calls of the model; greedily, for each distractor; or by hill climbing from
        random sets of parts.

    n_distractors : int, default=30
        How many of the nearest training series in the target are distractors.

    n_windows : int, default=None
        The number of stretches that time is cut into. None is 1 for series of several
        channels, and 12 (or as many as there are times) for series of one.

    n_epochs : int, default=8
        Steps of learning of the policy.

    batch_size : int, default=8
        Series scored in a step of learning, for each series to explain.

    metric : {"euclidean", "dtw"}, default="euclidean"
        The distance to distractors, and that of the cost. Dynamic time warping needs
        tslearn.

    window : int, default=None
        How many steps of time may be warped at most; for ``metric="dtw"``.

    lambda_0 : float, default=1.0
        The cost of a swapped part.

    lambda_2 : float, default=0.0
        The cost of a unit of squared distance. Of sets of equal cost, the one of least
        distance is returned.

    channel_axis : {1, 2}, default=2
        Which axis of an array with three axes holds the channels: by default the shape
        is (n_series, n_times, n_channels), with 1 it is (n_series, n_channels,
        n_times).

    time_limit : float, default=None
        Seconds that a call may take; what was found until then is returned.

    random_state : int, RandomState instance or None, default=None
        Determines the draws. The answer to a series hangs on this and on the series
        alone.

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
    PrototypeExplainer : Mixes series instead of swapping parts.

    Notes
    -----
    Greedy search and hill climbing follow CoMTE [1]_, the policy follows MACE [2]_. All
    are heuristics. What differs from the papers:

    - all series and distractors of a call are scored together, a step in one batch;
    - in the end, swaps that are not needed are undone, in lots of half of them first,
      so that it takes few calls where there are hundreds of parts;
    - the policy swaps parts of one distractor, which it draws, so that what is swapped
      was seen together. It starts from few swaps, learns in fewer and smaller batches
      with a larger step, and its valid samples are candidates;
    - distractors are series predicted in the target, whatever their label.

    References
    ----------
    .. [1] Ates, E., Aksar, B., Leung, V. J., Coskun, A. K. (2021). Counterfactual
       Explanations for Multivariate Time Series. International Conference on Applied
       Artificial Intelligence (ICAPAI). doi:10.1109/ICAPAI49758.2021.9462056

    .. [2] Yang, W., Li, J., Xiong, C., Hoi, S. C. H. (2022). MACE: An Efficient
       Model-Agnostic Framework for Counterfactual Explanation. arXiv:2205.15540.
       doi:10.48550/arXiv.2205.15540

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.timeseries import ChannelSwapExplainer
    >>> X = np.array([[0.0, 0, 0, 1], [0, 1, 1, 0], [5, 1, 0, 1], [4, 0, 1, 0]])
    >>> explainer = ChannelSwapExplainer(
    ...     DecisionTreeClassifier(random_state=0), strategy="greedy"
    ... )
    >>> explainer.fit(X, [0, 0, 1, 1]).transform(X[:1])
    array([[4., 0., 0., 1.]])
    """

    _parameter_constraints = {
        **SeriesExplainer._parameter_constraints,
        "strategy": [StrOptions({"policy", "greedy", "climb"})],
        "n_distractors": [Interval(Integral, 1, None, closed="left")],
        "n_windows": [Interval(Integral, 1, None, closed="left"), None],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "lambda_0": [Interval(Real, 0, None, closed="left")],
        "lambda_2": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        estimator,
        *,
        target="opposite",
        threshold=None,
        strategy="policy",
        n_distractors=30,
        n_windows=None,
        n_epochs=8,
        batch_size=8,
        metric="euclidean",
        window=None,
        lambda_0=1.0,
        lambda_2=0.0,
        channel_axis=2,
        time_limit=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.target = target
        self.threshold = threshold
        self.strategy = strategy
        self.n_distractors = n_distractors
        self.n_windows = n_windows
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.metric = metric
        self.window = window
        self.lambda_0 = lambda_0
        self.lambda_2 = lambda_2
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
            The most counterfactuals of a series, of other parts or distractors.

        Returns
        -------
        explanation : Explanation
            Its ``details`` have, for each counterfactual, `train_position` and
            `train_index` (position and index label of the distractor), `swapped` (the
            channel and the first and last time of each part that was swapped, an array
            of shape (n_parts, 3)), and of the call `n_calls` and `n_rows` (calls of the
            model and series in them) and `seconds`. `n_changed` counts parts.
        """
        explanation = super().explain(
            X, target=target, n_counterfactuals=n_counterfactuals
        )
        details = explanation.details
        details.train_index = self.train_index_[details.train_position]
        space, part = self._space, self._cost.part
        x = space.encode(explanation.queries)[explanation.row]
        cf = space.encode(explanation.counterfactuals)
        details.swapped = np.empty(len(cf), dtype=object)
        for i in range(len(cf)):
            told = []
            for p in np.unique(part[x[i] != cf[i]]):
                cell = np.flatnonzero(part == p)
                time = space.time[cell]
                told.append((space.channel[cell[0]], time.min(), time.max()))
            details.swapped[i] = np.array(told, dtype=np.intp)
        return explanation

    def _parts(self):
        space = self._space
        n = self.n_windows
        if n is None:
            n = 1 if space.n_channels > 1 else min(N_WINDOWS, space.n_times)
        if n > space.n_times:
            raise ValueError(
                f"n_windows={n} is more than the {space.n_times} times of a series."
            )
        return space.channel * n + space.time * n // space.n_times

    def _fit_search(self):
        self._index = SeriesIndex(self._cost, self._train)

    def _extras(self):
        return {"train_position": np.intp}

    def _solve(self, query, rows, k, meter):
        goal, x = query.goal.take(rows), query.state.codes[rows]
        seed = query.state.seed[rows]
        parts = []
        for at, pool in self._pools(goal, sure=self.threshold is not None):
            if not len(pool):
                continue
            near = np.stack(
                [self._index.nearest(x[i], pool, self.n_distractors) for i in at]
            )
            rays = Rays(
                self._model, self._space, self._cost, x[at], goal.take(at), meter
            )
            swaps = Swaps(rays, self._train[near], self._cost.part, seed[at])
            row, slot, mask = self._swap(swaps)
            parts.append((at[row], swaps.codes(row, slot, mask), near[row, slot]))
        if not parts:
            row = position = np.empty(0, dtype=np.intp)
            codes = np.empty((0, x.shape[1]))
        else:
            row, codes, position = map(np.concatenate, zip(*parts, strict=True))
        cost, square = self._cost.rows(x[row], codes), self._cost.squares(x[row], codes)
        order = np.lexsort((position, square, cost, row))
        return self._answers(
            query, rows, row[order], codes[order], k, train_position=position[order]
        )

    def _swap(self, swaps):
        if self.strategy == "greedy":
            return swap_greedily(swaps)
        if self.strategy == "climb":
            return swap_by_climbing(swaps)
        return swap_by_policy(swaps, self.n_epochs, self.batch_size)
