"""Counterfactual series as mixtures of the query and a few prototypes."""

import time
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval

from skcf._base import SeriesExplainer
from skcf._model import Meter
from skcf._series import (
    Rays,
    Task,
    alternate,
    gauge_of,
    in_channels,
    in_triangles,
    nearest_of,
    on_lines,
    read_model,
    search_rays,
    with_more,
)
from skcf.timeseries._found import Found, listed

NOTHING = 1e-12


class PrototypeExplainer(SeriesExplainer):
    """Nearest mixture of a series and a few training series of the target.

    A counterfactual is a convex combination of the series to explain and of at most
    `max_prototypes` training series that the model predicts in the target: the
    prototypes. Of all these, the one is returned that is nearest and, with several
    channels, changes few of them.

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

    max_prototypes : int, default=1
        The most training series that a counterfactual is mixed from.

    metric : {"euclidean", "dtw"}, default="euclidean"
        The distance. Dynamic time warping needs tslearn.

    window : int, default=None
        How many steps of time may be warped at most, the radius of a Sakoe-Chiba band;
        for ``metric="dtw"``.

    lambda_0 : float, default=0.0
        The cost of a changed channel.

    lambda_2 : float, default=1.0
        The cost of a unit of squared distance, greater than 0.

    up, down : float or array-like of shape (n_times,) or (n_times, n_channels), \
            default=None
        Prices of squared increases and decreases at each time, 1 by default; for
        ``metric="euclidean"``.

    channel_axis : {1, 2}, default=2
        Which axis of an array with three axes holds the channels: by default the shape
        is (n_series, n_times, n_channels), with 1 it is (n_series, n_channels,
        n_times).

    tol : float, default=1e-3
        With two prototypes, how far below the cost, relatively, the bound may stay for
        a counterfactual to count as optimal.

    time_limit : float, default=None
        Seconds that a call may take; what was found until then is returned, with the
        bound that was proved.

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
    NearestUnlikeSeriesExplainer : One prototype, the nearest one.
    ChannelSwapExplainer : Swaps whole channels or stretches of time.

    Notes
    -----
    The model is that of [1]_, the method of solving it is not. The thesis solves a
    mixed-integer quadratic program; here

    - for tree ensembles on the cells of univariate series, one prototype is exact: the
      line to each training series is swept from one decision of a tree to the next.
      Two prototypes are exact up to `tol`: triangles are split into boxes, the one
      with the least bound first. `optimal` and `lower_bound` tell what was proved;
    - for scores that are linear in the cells, both are closed forms (two prototypes
      where up and down have equal prices; otherwise there is a bound);
    - three and more prototypes, several channels and dynamic time warping start from
      there and are heuristics. More prototypes never give a dearer answer;
    - for any other model the nearest training series alone are mixed, by bisection on
      rays and a search over shares; all series of a call share the model calls. This
      is a heuristic.

    Weights of the prototypes differ from channel to channel, while all channels share
    the prototypes. A changed channel is one in which a prototype has weight; no big
    constant is needed. Under dynamic time warping the alternating algorithm of the
    thesis compares sums of squares with sums of squares.

    Counterfactuals disclose training series: a mixture of few of them can be undone.

    References
    ----------
    .. [1] Ramirez Ayerbe, J. (2023). Mathematical optimization for counterfactual
       explanations: chapter 3, Counterfactual analysis for functional data. PhD thesis,
       Universidad de Sevilla.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.timeseries import PrototypeExplainer
    >>> X = np.array([[0.0, 0, 0], [0, 1, 0], [0, 4, 2], [2, 4, 0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = PrototypeExplainer(LogisticRegression(), max_prototypes=2)
    >>> explanation = explainer.fit(X, y).explain(X[:1])
    >>> explanation.details.prototypes[0].tolist()
    [2, 3]
    >>> bool(explanation.optimal[0])
    True
    """

    _parameter_constraints = {
        **SeriesExplainer._parameter_constraints,
        "max_prototypes": [Interval(Integral, 1, None, closed="left")],
        "lambda_0": [Interval(Real, 0, None, closed="left")],
        "lambda_2": [Interval(Real, 0, None, closed="neither")],
        "up": ["array-like", Real, None],
        "down": ["array-like", Real, None],
        "tol": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        estimator,
        *,
        target="opposite",
        threshold=None,
        max_prototypes=1,
        metric="euclidean",
        window=None,
        lambda_0=0.0,
        lambda_2=1.0,
        up=None,
        down=None,
        channel_axis=2,
        tol=1e-3,
        time_limit=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.target = target
        self.threshold = threshold
        self.max_prototypes = max_prototypes
        self.metric = metric
        self.window = window
        self.lambda_0 = lambda_0
        self.lambda_2 = lambda_2
        self.up = up
        self.down = down
        self.channel_axis = channel_axis
        self.tol = tol
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
            The most counterfactuals of a series. After the cheapest come those of
            other prototypes.

        Returns
        -------
        explanation : Explanation
            Its ``details`` have, for each counterfactual:

            - `prototypes`: the positions of its prototypes among the training series;
            - `prototype_index`: their index labels;
            - `weights`: their weights in each channel, (n_prototypes, n_channels); what
              a channel lacks to 1 is the weight of the series itself;
            - `changed_channels`: the channels that changed;
            - `path`: the warping path, pairs of times of the series and of the
              counterfactual; the diagonal for ``metric="euclidean"``;

            and of the call `n_calls` and `n_rows` (calls of the model and series in
            them) and `seconds`.
        """
        explanation = super().explain(
            X, target=target, n_counterfactuals=n_counterfactuals
        )
        details = explanation.details
        x = self._space.encode(explanation.queries)[explanation.row]
        cf = self._space.encode(explanation.counterfactuals)
        channel = self._space.channel
        changed = [np.unique(channel[a != b]) for a, b in zip(x, cf, strict=True)]
        details.changed_channels = listed(changed)
        details.prototype_index = listed(
            [self.train_index_[at] for at in details.prototypes]
        )
        details.path = listed(
            [self._cost.path(a, b) for a, b in zip(x, cf, strict=True)]
        )
        return explanation

    def _fit_search(self):
        self._reader = read_model(self._model, self._space, self._train)
        # What is nothing, compared with the squared distances between series.
        spread = self._train - self._train.mean(axis=0)
        self._slack = NOTHING * self.lambda_2 * float((spread**2).sum(axis=1).mean())
        if getattr(self._reader, "compiled", False):
            # Sums of trees do not depend on how rows are grouped.
            self._model.view = self._reader

    def _extras(self):
        return {"prototypes": object, "weights": object}

    def _solve(self, query, rows, k, meter):
        found = Found(len(rows))
        goal = query.goal.take(rows)
        for at, pool in self._pools(goal):
            if not len(pool):
                continue
            gauge = gauge_of(self._reader, self._model, goal.take(at[:1]))
            if gauge is None:
                self._ask(query, rows, goal, at, pool, meter, found)
            else:
                self._prove(query, rows, at, pool, gauge, meter, found)
        return found.answers(self, query, rows, k)

    # -- models that are read ------------------------------------------------------

    def _prove(self, query, rows, at, pool, gauge, meter, found):
        """Search exactly, one series after another: the model is not asked."""
        written = self._written(query)
        codes = query.state.codes[rows]
        for done, i in enumerate(at):
            task = Task(
                codes[i],
                self._train[pool],
                gauge,
                self._cost.quadratic(codes[i]),
                self._space.channel,
                self._space.n_channels,
                self.lambda_0,
                self.lambda_2,
                _shared(meter, len(at) - done),
                written,
                self.tol,
            )
            if self.metric == "dtw":
                mixtures, _ = alternate(task, self._cost, self._mixtures)
                found.add(i, mixtures, pool)
            elif self._space.n_channels > 1:
                found.add(i, self._mixtures(task), pool)
            else:
                mixtures, bound = self._proved(task)
                bound = self._whole(bound)
                found.add(i, mixtures, pool, bound, self.tol, self._slack)
            found.cut[i] = task.meter.cut

    def _mixtures(self, task):
        if self._space.n_channels > 1:
            return in_channels(task, self.max_prototypes)
        return self._proved(task)[0]

    def _proved(self, task):
        """Return the mixtures of a univariate series, and the bound of their square."""
        lines = on_lines(task)
        bound = min((m.cost for m in lines), default=np.inf)
        bound = (bound - self.lambda_0) / self.lambda_2
        if self.max_prototypes == 1 or len(task.D) < 2:
            return lines, bound
        best, bound = in_triangles(task, lines)
        if self.max_prototypes > 2:
            bound = np.nan
            if best is not None:
                best = with_more(task, lines, best, self.max_prototypes)
        others = [m for m in lines if m.cost > best.cost] if best else []
        return [best, *others] if best else [], bound

    def _whole(self, square):
        return self.lambda_0 + self.lambda_2 * square

    # -- models that are asked -----------------------------------------------------

    def _ask(self, query, rows, goal, at, pool, meter, found):
        """Search along rays, all series of the block in the same model calls."""
        x, train = query.state.codes[rows[at]], self._train[pool]
        rays = Rays(self._model, self._space, self._cost, x, goal.take(at), meter)
        near = nearest_of(x, train, self._space.n_channels)
        row, weights, cost = search_rays(rays, train, near, self.max_prototypes)
        channel = self._space.channel
        for i, share, price in zip(row, weights, cost, strict=True):
            used = np.flatnonzero(share.any(axis=1))
            position = near[i, used]
            codes = x[i].copy()
            for b, w in zip(position, share[used], strict=True):
                codes = codes + w[channel] * (train[b] - x[i])
            found.put(at[i], codes, price, pool[position], share[used])


def _shared(meter, n_left):
    """Return a meter with an equal share of the time that is left."""
    if meter.deadline is None:
        return meter
    now = time.monotonic()
    share = max(0.0, meter.deadline - now) / n_left
    return Meter(now + share, meter.share)
