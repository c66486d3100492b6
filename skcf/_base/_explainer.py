"""What every explainer is: transform, explain, score, statuses, budgets, guards."""

import time
import warnings
from abc import ABCMeta, abstractmethod
from numbers import Integral, Real

import narwhals.stable.v2 as nw
import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from skcf._base._answers import Answers, Verdicts, rank_in_query
from skcf._explanation import STATUSES, Explanation
from skcf._space import kind_of
from skcf.exceptions import CounterfactualNotFoundWarning


class BaseExplainer(
    OneToOneFeatureMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta
):
    """Base of all explainers: it alone decides what is returned, and guards it.

    A subclass says how to read a call (`_open`), how to search (`_search`), how to
    write an answer (`_emit`) and how to judge one as it is returned (`_reached`,
    `_lawful`). Whatever a search claims, an answer counts as found only if both
    judges accept the row in the form in which it is returned.
    """

    _parameter_constraints = {
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }
    # With metadata routing, a Pipeline passes on a target without being asked to.
    __metadata_request__transform = {"target": True}
    _doc_link_module = "skcf"

    # -- hooks --------------------------------------------------------------------

    @abstractmethod
    def _open(self, X, target, **options):
        """Return the Query of a call, with the rows settled that need no search."""

    @abstractmethod
    def _search(self, query, rows, k, meter):
        """Return the Answers to the rows of a query at positions `rows`."""

    @abstractmethod
    def _emit(self, query, row, codes):
        """Return answers as rows in the container and dtypes of the query."""

    @abstractmethod
    def _reached(self, query, row, table):
        """Return (valid, prediction, score) of emitted rows."""

    @abstractmethod
    def _lawful(self, query, row, table):
        """Return (keeps every rule, cost, n_changed) of emitted rows."""

    def _diagnose(self, query, rows, meter):
        """Return what to tell in ``details`` of rows without an answer."""
        return {}

    # -- the public verbs ---------------------------------------------------------

    def transform(self, X, *, target=None):
        """Return the counterfactual of every row, in place of the row.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows to explain, in the columns given to `fit`.
        target : object or array-like of shape (n_samples, ...), default=None
            What each row is to become, as the `target` of the explainer says it: a
            label, a number or an interval, for all rows or one a row. None uses that
            of the explainer.

        Returns
        -------
        X_cf : {ndarray, dataframe} of shape (n_samples, n_features)
            One row out for one row in, in the container, columns, order and index of
            `X`. A row without a counterfactual comes back as it is, and one
            :class:`~skcf.exceptions.CounterfactualNotFoundWarning` counts them.
        """
        query, answers = self._answer(X, target, 1)
        X_cf = self._in_place(query, answers)
        status = self._status(query, answers)
        missed = {s: int((status == s).sum()) for s in STATUSES[2:]}
        if any(missed.values()):
            counts = ", ".join(f"{n} {s}" for s, n in missed.items() if n)
            warnings.warn(
                f"{sum(missed.values())} of {len(query)} rows have no counterfactual "
                f"({counts}) and are returned unchanged; explain tells more.",
                CounterfactualNotFoundWarning,
                stacklevel=3,
            )
        return self._as_configured(X_cf)

    def explain(self, X, *, target=None, n_counterfactuals=1):
        """Return the counterfactuals of every row with all that is known of them.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows to explain, in the columns given to `fit`.
        target : label, array-like of shape (n_samples,) or (n_samples, 2), default=None
            What each row is to become; None uses the `target` of the explainer.
        n_counterfactuals : int, default=1
            The most counterfactuals of a row. They are distinct; those that change
            different features come first, by cost. There are as many as were found.

        Returns
        -------
        explanation : Explanation
        """
        return self._explain(X, target, n_counterfactuals)

    def score(self, X, y=None):
        """Return how near the counterfactuals of `X` are, on one scale for all.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        score : float
            Over the rows that are not in the target already, the mean of one less the
            Gower distance (ranges of the training rows) where a counterfactual was
            found, and 0 elsewhere; 1 when there are no such rows. The `cost` of the
            explainer has no part in it, so that costs can be compared.
        """
        query, answers = self._answer(X, None, 1)
        status = self._status(query, answers)
        counted = status != "already"
        if not counted.any():
            return 1.0
        near = np.zeros(len(query))
        near[answers.row] = 1.0 - np.minimum(1.0, self._gower(query, answers))
        return float(near[counted].mean())

    # -- from a query to answers --------------------------------------------------

    def _answer(self, X, target, k, **options):
        """Return the Query and its guarded Answers, at most `k` a row."""
        check_is_fitted(self)
        if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
            raise ValueError(f"n_counterfactuals must be an integer >= 1, got {k!r}.")
        start = time.monotonic()
        X = self._validate(X, reset=False)
        query = self._open(X, target, **options)
        query.state.begin = start
        rows = np.flatnonzero(query.status == "")
        answers = self._run(query, rows, k)
        return query, self._guard(query, answers, k)

    def _run(self, query, rows, k):
        """Search all live rows, in blocks that fit in memory and share the jobs."""
        if self.time_limit is not None:
            reserve = min(0.4 * self.time_limit, 2 * k * len(rows) * self._rate())
            query.state.deadline = query.state.begin + 0.9 * self.time_limit - reserve
            query.state.share = self.time_limit / 4
        n_jobs = effective_n_jobs(self.n_jobs)
        blocks = self._blocks(rows, n_jobs)
        # Blocks that run after one another share the time.
        waves = -(-len(blocks) // n_jobs)
        meters = [query.meter((i // n_jobs + 1) / waves) for i in range(len(blocks))]
        search = delayed(_timed_search)
        parallel = Parallel(
            n_jobs=self.n_jobs, prefer=self._prefer(), return_as="generator"
        )
        parts = parallel(
            search(self, query, block, k, meter)
            for block, meter in zip(blocks, meters, strict=True)
        )
        parts = list(self._watched(parts, blocks))
        everything = np.arange(len(query))
        return Answers.concat(
            len(query), [everything, *blocks], [self._nothing(query), *parts]
        )

    def _blocks(self, rows, n_jobs):
        """Return the rows in blocks that fit in memory and share the jobs."""
        fits = -(-len(rows) // self._block_size())
        return np.array_split(rows, max(fits, min(n_jobs, max(1, len(rows)))))

    def _watched(self, parts, blocks):
        """Yield the answers of blocks, under one progress bar if verbose."""
        if not self.verbose:
            yield from parts
            return
        from tqdm.auto import tqdm

        found = 0
        with tqdm(total=sum(map(len, blocks)), unit="row") as bar:
            for block, part in zip(blocks, parts, strict=True):
                found += len(np.unique(part.row))
                bar.update(len(block))
                bar.set_postfix(found=found)
                yield part

    def _guard(self, query, answers, k):
        """Keep the answers that both judges accept as they are returned.

        The first `k` of each query are judged in one go, and those behind them only
        where one was turned down.
        """
        verdict = Verdicts(answers.row, query.prediction)
        while len(at := verdict.open(k)):
            row = answers.row[at]
            table = self._emit(query, row, answers.codes[at])
            ok, cost, n_changed = self._lawful(query, row, table)
            valid, prediction, score = self._reached(query, row, table)
            if np.array_equal(row, np.arange(len(query))) and (ok & valid).all():
                query.state.emitted = table
            verdict.add(
                at,
                ok & valid,
                cost=cost,
                n_changed=n_changed,
                prediction=prediction,
                score=score,
            )
        kept, told = verdict.kept()
        query.state.update(told)
        return answers.take(kept)

    def _status(self, query, answers):
        status = np.where(query.status == "", "not_found", query.status)
        status[(query.status == "") & answers.cut] = "budget"
        if answers.lower_bound is not None:
            proved = np.isposinf(answers.lower_bound)
            status[(query.status == "") & proved] = "infeasible"
        status[answers.row] = "found"
        return status

    def _in_place(self, query, answers):
        """Return the queries with the answers of rank 0 in their places."""
        if "emitted" in query.state:
            # Every query has its answer, and was emitted to be judged.
            return query.state.emitted
        first = rank_in_query(answers.row) == 0
        codes = query.state.codes.copy()
        codes[answers.row[first]] = answers.codes[first]
        return self._emit(query, np.arange(len(query)), codes)

    def _explain(self, X, target, k, **options):
        query, answers = self._answer(X, target, k, **options)
        status = self._status(query, answers)
        missed = np.flatnonzero(np.isin(status, ("infeasible", "not_found")))
        meter = query.meter()
        more = self._diagnose(query, missed, meter) if len(missed) else {}
        bound = answers.lower_bound
        bound = np.where(status == "infeasible", np.inf, bound)
        optimal, state = answers.optimal, query.state
        if optimal is None:
            optimal = np.zeros(len(answers.row), dtype=bool)
        return Explanation(
            queries=query.X,
            counterfactuals=self._emit(query, answers.row, answers.codes),
            row=answers.row,
            rank=rank_in_query(answers.row),
            status=status,
            target=self._targets(query, answers, state.prediction),
            cost=state.cost,
            n_changed=state.n_changed,
            prediction_before=query.prediction,
            prediction=state.prediction,
            score_before=query.score,
            score=state.score,
            optimal=optimal,
            lower_bound=bound,
            details=Bunch(
                **answers.extra,
                **answers.whole,
                **answers.by_row,
                **more,
                n_calls=answers.n_calls + meter.n_calls + state.n_calls,
                n_rows=answers.n_rows + meter.n_rows + state.n_rows,
                seconds=time.monotonic() - state.begin,
            ),
        )

    def _targets(self, query, answers, prediction):
        return query.target

    def _nothing(self, query):
        """Return the Answers of a search that was never needed."""
        codes = query.state.codes
        return Answers(
            np.empty(0, dtype=np.intp),
            codes[:0],
            np.zeros(len(query), dtype=bool),
            {name: np.empty(0, dtype=t) for name, t in self._extras().items()},
        )

    def _extras(self):
        """Return the names and dtypes of the extra arrays of this method's Answers."""
        return {}

    def _rate(self):
        """Return the seconds that the model takes for a row."""
        return 0.0

    def _prefer(self):
        """Return "threads" where a search leaves Python for most of its time."""
        return None

    def _block_size(self):
        """Return how many rows may be searched at once."""
        return 1024

    # -- reading and writing tables -----------------------------------------------

    def _validate(self, X, reset):
        """Return a table whose names and width are those of fit."""
        frame = nw.from_native(X, pass_through=True)
        if isinstance(frame, nw.LazyFrame | nw.DataFrame):
            kind_of(X)
            if not len(X):
                raise ValueError(
                    "Found a dataframe with 0 samples while a minimum of 1 is "
                    f"required by {type(self).__name__}."
                )
            if not X.shape[1]:
                raise ValueError(
                    f"0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
                )
            try:
                validate_data(self, X, reset=reset, skip_check_array=True)
            except ValueError as error:
                known = getattr(self, "feature_names_in_", None)
                if known is not None and list(known) != list(X.columns):
                    error.add_note(f"Expected {_listed(known)}, in this order.")
                raise
            # Fitted on an array, the columns have no names to be found by.
            return X if reset or not self._unnamed else X.to_numpy()
        return validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
        )

    @property
    def _unnamed(self):
        """Whether fit saw an array."""
        return False

    def _as_configured(self, X):
        """Return a frame in the library that set_output asks for."""
        wanted = _get_output_config("transform", self)["dense"]
        kind = kind_of(X)[0].kind
        if kind != "array" and wanted in {"pandas", "polars"} and wanted != kind:
            frame = nw.from_native(X)
            return frame.to_pandas() if wanted == "pandas" else frame.to_polars()
        return X

    def _draw_seed(self):
        random = check_random_state(self.random_state)
        return np.uint64(random.randint(np.iinfo(np.int32).max))


def _timed_search(explainer, query, rows, k, meter):
    """Search one block of rows, in whatever worker this runs."""
    if not len(rows):
        nothing = explainer._nothing(query)
        nothing.cut = nothing.cut[:0]
        return nothing
    return explainer._search(query, rows, k, meter)


def _listed(names, most=8):
    """Return the text of a list of names, cut short."""
    more = ", ..." if len(names) > most else ""
    return f"[{', '.join(map(repr, list(names)[:most]))}{more}]"
