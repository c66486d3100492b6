"""Explainers of series: layout, distance, and the training series to learn from."""

from numbers import Integral

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import validate_data

from skcf._base._answers import Answers, Query
from skcf._base._explainer import rank_in_query
from skcf._base._model_explainer import ModelExplainer
from skcf._base._tabular import _row_seeds
from skcf._series import SeriesCost, SeriesSpace
from skcf._space import container_of


class SeriesExplainer(ModelExplainer):
    """Base of the explainers of series.

    A subclass implements `_solve`, and `_fit_search` if it learns something of its own
    in fit.
    """

    _parameter_constraints = {
        **ModelExplainer._parameter_constraints,
        "metric": [StrOptions({"euclidean", "dtw"})],
        "window": [Interval(Integral, 0, None, closed="left"), None],
        "channel_axis": [Options(Integral, {1, 2})],
    }
    # What a method has no parameter for.
    lambda_0, lambda_2, up, down = 0.0, 1.0, None, None

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Fit the estimator, and learn the training series.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_series, n_times) or array-like of \
                shape (n_series, n_times, n_channels)
            Training series, a value for every time. With ``channel_axis=1`` the shape
            is (n_series, n_channels, n_times).
        y : array-like of shape (n_series,), default=None
            Target of the estimator. Not needed with a ``FrozenEstimator``.
        **params : dict
            Passed to the `fit` of the estimator, such as `sample_weight`; routed if
            metadata routing is enabled.

        Returns
        -------
        self : object
        """
        X = self._validate(X, reset=True)
        self._space = SeriesSpace(X, self.channel_axis)
        self._train = self._space.encode(X)
        table = self._space.restore(X)
        self._fit_estimator(table, y, params)
        self._cost = SeriesCost(
            self._space, self.metric, self.window, self.lambda_0, self.lambda_2,
            self.up, self.down, self._parts(),
        )  # fmt: skip
        self._fit_model(table, y, read=False)
        prediction = self._model.predict(table)
        sure = self.threshold is not None
        self._train_sure = self._model.probability(table) if sure else None
        if self._model.regression:
            self._train_place = prediction.astype(np.float64)
        else:
            self._train_place = self._model.positions(prediction)
        self.train_index_ = container_of(X).index(X)
        self._seed = self._draw_seed()
        self._fit_search()
        return self

    def _parts(self):
        """Return the part that each cell belongs to, None for its channel."""
        return None

    def _fit_search(self):
        """Learn what the method alone needs."""

    def _solve(self, query, rows, k, meter):
        """Return the Answers to the rows of a query at positions `rows`."""
        raise NotImplementedError

    def score(self, X, y=None):
        """Return how near the counterfactuals of `X` are.

        Parameters
        ----------
        X : {array-like, dataframe} of the shape given to `fit`
        y : None
            Ignored.

        Returns
        -------
        score : float
            Over the series that are not in the target already, the mean of
            ``1 / (1 + cost)`` where a counterfactual was found, and 0 elsewhere; 1 when
            there are no such series.
        """
        query, answers = self._answer(X, None, 1)
        counted = self._status(query, answers) != "already"
        if not counted.any():
            return 1.0
        near = np.zeros(len(query))
        near[answers.row] = 1.0 / (1.0 + query.state.cost)
        return float(near[counted].mean())

    # -- a call -------------------------------------------------------------------

    def _open(self, X, target):
        query = Query.of(X)
        state = query.state
        state.codes = self._space.encode(X)
        self._goal(query, self._space.restore(X), target)
        keys = np.column_stack([state.codes, query.goal.keys()])
        state.seed = _row_seeds(keys, self._seed)
        return query

    def _search(self, query, rows, k, meter):
        answers = self._solve(query, rows, k, meter)
        answers.n_calls += meter.n_calls
        answers.n_rows += meter.n_rows
        answers.cut = answers.cut | meter.cut
        return answers

    def _candidates(self, goal, sure):
        """Return the positions of the training series predicted in the target.

        With `sure`, the threshold counts.
        """
        at = np.zeros(len(self._train), dtype=np.intp)
        plain = goal.take(at)
        if sure or self._model.regression:
            inside = plain.reached(self._train_place, self._train_sure)
        else:
            same = self._train_place == plain.label
            inside = np.where(plain.opposite, ~same, same)
        return np.flatnonzero(inside)

    def _pools(self, goal, sure=False):
        """Yield (rows, training series) for the rows that share a target."""
        keys = goal.keys()
        kinds, at = np.unique(keys, axis=0, return_inverse=True)
        at = np.ravel(at)
        for kind in range(len(kinds)):
            rows = np.flatnonzero(at == kind)
            yield rows, self._candidates(goal.take(rows[:1]), sure)

    def _written(self, query):
        """Return a function that rounds codes to the dtype of what is emitted."""
        space, row = self._space, np.zeros(1, dtype=np.intp)

        def asked(codes):
            return space.encode(space.emit(query.X, row, codes[None]))[0]

        # What becomes of a third tells the precision of each column.
        third = np.full(query.state.codes.shape[1], 1 / 3)
        told, single = asked(third), third.astype(np.float32)
        narrow = told != third
        if (narrow & (told != single)).any():
            return asked
        return lambda codes: np.where(narrow, codes.astype(np.float32), codes)

    def _answers(self, query, rows, row, codes, k, **extra):
        """Return Answers of candidates in order of preference, equal ones once."""
        keys = np.column_stack([row, codes])
        first = np.sort(np.unique(keys, axis=0, return_index=True)[1])
        first = first[(codes[first] != query.state.codes[rows][row[first]]).any(axis=1)]
        first = first[np.argsort(row[first], kind="stable")]
        first = first[rank_in_query(row[first]) < k + 4]
        nothing = np.zeros(len(rows), dtype=bool)
        extra = {name: values[first] for name, values in extra.items()}
        return Answers(row[first], codes[first], nothing, extra)

    def _emit(self, query, row, codes):
        return self._space.emit(query.X, row, codes)

    def _reached(self, query, row, table):
        return self._judge(query, row, self._space.restore(table))

    def _lawful(self, query, row, table):
        x, codes = query.state.codes[row], self._space.encode(table)
        n_changed = self._cost.n_changed(x, codes)
        return n_changed > 0, self._cost.rows(x, codes), n_changed

    def _validate(self, X, reset):
        """Return series of the shape of fit; three axes are for arrays alone."""
        if hasattr(X, "columns"):
            X = super()._validate(X, reset)
        else:
            try:
                X = validate_data(
                    self, X, reset=reset, allow_nd=True, ensure_all_finite=False
                )
            except ValueError as error:
                if "inhomogeneous" in str(error):
                    error.add_note("Series have to be of one length: resample them.")
                raise
        if isinstance(X, np.ndarray) and X.ndim > 3:
            raise ValueError(
                f"Series have two axes, or three with channels; got shape {X.shape}."
            )
        if not reset and X.shape[1:] != self._space.shape:
            raise ValueError(
                f"Series must have the shape {self._space.shape} of those given to "
                f"fit, got {X.shape[1:]}."
            )
        return X

    @property
    def _unnamed(self):
        return self._space.container.kind == "array"

    def _block_size(self):
        # Up to some 128 series are written out at once for each that is explained.
        return int(np.clip(2**28 // (8 * 128 * self._space.n_features), 1, 1024))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.categorical = False
        tags.input_tags.string = False
        return tags
