"""Explainers of rows of a table: space, rules and cost."""

from numbers import Real

import numpy as np
from sklearn.base import _fit_context

from skcf._base._answers import Answers, Query
from skcf._base._model_explainer import ModelExplainer
from skcf._base._warm import warm_up
from skcf._search import Problem, distinct, diverse
from skcf._space import FeatureSpace, container_of, mix
from skcf.constraints._conflict import check_consistent
from skcf.constraints._ground import Ground
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.constraints._structure import read_structure
from skcf.costs import Cost, check_cost
from skcf.exceptions import UnsupportedConstraintError

MAX_DIAGNOSED = 100
# So many rows fill a call of the model; more of them do not fit in the cache.
MAX_BLOCK = 512


class TabularExplainer(ModelExplainer):
    """Base of the explainers of rows of a table.

    A subclass implements `_solve`, and `_fit_search` if it learns something of its
    own in fit.
    """

    _parameter_constraints = {
        **ModelExplainer._parameter_constraints,
        "constraints": "no_validation",
        "cost": "no_validation",
        "categorical_features": "no_validation",
        "resolution": "no_validation",
    }
    max_evaluations = None
    # Whether the search has compiled functions, which fit sees to.
    _compiles = False

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Fit the estimator, and learn which values and changes are possible.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            Training rows, in the columns in which counterfactuals are wanted.
        y : array-like of shape (n_samples,), default=None
            Target of the estimator. Not needed with a ``FrozenEstimator``.
        **params : dict
            Passed to the `fit` of the estimator, such as `sample_weight`; routed if
            metadata routing is enabled.

        Returns
        -------
        self : object
        """
        cost = check_cost(self.cost)
        rules = check_rules(self.constraints)
        X = self._validate(X, reset=True)
        self._fit_estimator(X, y, params)
        container = container_of(X)
        structure = read_structure(rules, container)
        self._space = FeatureSpace(
            X,
            categorical_features=self.categorical_features,
            resolution=self.resolution,
            allow_missing=self.__sklearn_tags__().input_tags.allow_nan,
            **structure,
        )
        self._rules = RuleSet(rules, self._space)
        check_consistent(self._rules)
        self._cost = cost._bind(self._space)
        self._ruler = Cost()._bind(self._space)
        self._fit_model(X, y)
        self._seed = self._draw_seed()
        self._fit_search(X)
        if self._compiles:
            warm_up(next(k for k in type(self).__mro__ if "_compiles" in vars(k)))
        return self

    def _fit_search(self, X):
        """Learn what the method alone needs."""

    def _solve(self, problem, rows, k):
        """Return the Answers to the queries of a problem at positions `rows`."""
        raise NotImplementedError

    def explain(
        self,
        X,
        *,
        target=None,
        n_counterfactuals=1,
        min_distance=None,
        constraints=None,
    ):
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
        min_distance : float, default=None
            The least Gower distance (by the ranges of the training rows, whatever the
            `cost` is) between two counterfactuals of a row.
        constraints : rule, str or list of these, default=None
            Rules that hold in this call on top of those of the explainer, for the
            dialogue: no, that is not possible for me; what else?

        Returns
        -------
        explanation : Explanation
            Its ``details`` have, besides what the method adds:

            - `n_calls`, `n_rows`: calls of the model and rows in them;
            - `seconds`: wall time of the call;
            - `blocking_rules`: for each of the first 100 rows that are infeasible or
              not found, the text of the single rule without which the method finds a
              counterfactual (the cheapest such), or None.
        """
        return self._explain(
            X,
            target,
            n_counterfactuals,
            constraints=constraints,
            min_distance=min_distance,
        )

    # -- a call -------------------------------------------------------------------

    def _open(self, X, target, constraints=None, min_distance=None, **options):
        query = Query.of(X)
        state = query.state
        state.options = options
        state.codes = self._space.encode(X)
        state.rules = self._tightened(constraints)
        state.table = self._space.restore(X)
        self._goal(query, state.table, target)
        state.lifted, state.apart = None, _check_distance(min_distance)
        keys = np.column_stack([state.codes, query.goal.keys()])
        state.seed = _row_seeds(keys, self._seed)
        return query

    def _tightened(self, constraints):
        extra = check_rules(constraints)
        if not extra:
            return self._rules
        for rule in extra:
            if read_structure((rule,), self._space.container, only_structure=True):
                raise UnsupportedConstraintError(
                    f"{rule} says how columns are read; it belongs in the constraints "
                    "given to the explainer, not to one call."
                )
        rules = RuleSet((*self._rules.rules, *extra), self._space)
        check_consistent(rules)
        return rules

    def _search(self, query, rows, k, meter):
        state = query.state
        lifted = None if state.lifted is None else state.lifted[rows]
        ground = Ground(state.rules, state.codes[rows], lifted)
        problem = Problem(
            state.codes[rows],
            self._space.container.take(state.table, rows),
            ground,
            self._cost,
            self._model,
            query.goal.take(rows),
            state.seed[rows],
            meter,
            self.max_evaluations,
            quick=lifted is not None,
            apart=state.apart,
            ruler=self._ruler,
        )
        problem.options = {
            name: values if values is None else values[rows]
            for name, values in state.get("options", {}).items()
        }
        problem.called, problem.callback = rows, state.get("callback")
        answers = self._solve(problem, np.flatnonzero(~ground.infeasible), k)
        if state.apart is not None:
            answers = self._apart(answers, state.apart)
        bound = np.nan if answers.lower_bound is None else answers.lower_bound
        answers.lower_bound = np.where(ground.infeasible, np.inf, bound)
        answers.n_calls, answers.n_rows = meter.n_calls, meter.n_rows
        answers.cut = problem.cut | (meter.cut & ~ground.infeasible)
        return answers

    def _pool_answers(self, problem, pool, k):
        """Return the valid candidates of a pool as Answers.

        First the best of each set of changed features, by cost, then the others. A few
        more than `k` are given, in case a judge turns one down.
        """
        pool = distinct(problem, pool, k)
        codes = pool.cands.codes(problem.x, problem.values)
        return Answers(pool.row, codes, problem.cut)

    def _apart(self, answers, apart):
        """Return the answers that are far enough from all better ones of a query."""

        def distance(a, b):
            return self._ruler.rows(answers.codes[a], answers.codes[b])

        each = np.arange(len(answers.row))
        return answers.take(diverse(answers.row, each, len(each), distance, apart))

    def _emit(self, query, row, codes):
        return self._space.emit(query.X, row, codes, query.state.codes[row])

    def _reached(self, query, row, table):
        return self._judge(query, row, self._space.restore(table))

    def _lawful(self, query, row, table):
        state = query.state
        x, codes = state.codes[row], self._space.encode(table)
        if state.lifted is None:
            ok = state.rules.holds(x, codes)
        else:
            ok = state.rules.holds(x, codes, state.lifted[row])
        n_changed = self._cost.n_changed(x, codes)
        ok &= n_changed > 0
        return ok, self._cost.rows(x, codes), n_changed

    def _gower(self, query, answers):
        return self._ruler.rows(query.state.codes[answers.row], answers.codes)

    # -- which rule is in the way -------------------------------------------------

    def _diagnose(self, query, missed, meter):
        """Search again without each single rule, all rows and rules in one go."""
        told = np.full(len(query), None, dtype=object)
        rules = query.state.rules
        if not len(rules):
            return {"blocking_rules": told}
        rows = np.repeat(missed[:MAX_DIAGNOSED], len(rules))
        lifted = np.tile(np.arange(len(rules)), len(missed[:MAX_DIAGNOSED]))
        again = self._repeat(query, rows, lifted)
        answers = self._search(again, np.arange(len(rows)), 1, meter)
        answers = self._guard(again, answers, 1)
        query.state.n_calls += again.state.n_calls
        query.state.n_rows += again.state.n_rows
        cost = again.state.cost
        for i in np.lexsort((lifted[answers.row], cost))[::-1]:
            at = answers.row[i]
            told[rows[at]] = str(rules.rules[lifted[at]])
        return {"blocking_rules": told}

    def _repeat(self, query, rows, lifted):
        """Return a query of some rows, each with one rule lifted."""
        X = container_of(query.X).take(query.X, rows)
        again = Query.of(X)
        again.goal = query.goal.take(rows)
        again.prediction = query.prediction[rows]
        state = query.state
        again.state.update(
            begin=state.begin,
            codes=state.codes[rows],
            rules=state.rules,
            table=self._space.container.take(state.table, rows),
            lifted=lifted,
            apart=None,
            seed=state.seed[rows],
            n_calls=0,
            n_rows=0,
        )
        return again

    @property
    def _unnamed(self):
        return self._space.container.kind == "array"

    def _block_size(self):
        values = self._space.values
        per_row = 2**18 + 16 * values.n_observed
        return int(np.clip(2**30 // per_row, 1, MAX_BLOCK))


def _check_distance(distance):
    if distance is None:
        return None
    ok = isinstance(distance, Real) and not isinstance(distance, bool)
    if not (ok and 0 <= distance < np.inf):
        raise ValueError(
            f"min_distance must be a number of at least 0 or None, got {distance!r}."
        )
    return float(distance)


def _row_seeds(keys, seed):
    """Return a seed for each row: of its values and target, and nothing else."""
    bits = np.where(np.isnan(keys), np.nan, keys + 0.0)
    bits = np.ascontiguousarray(bits).view(np.uint64)
    state = np.full(len(keys), seed, dtype=np.uint64)
    for column in bits.T:
        state = mix(state ^ column)
    return state
