"""GeCo: genetic counterfactuals that respect rules."""

from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skcf._base import TabularExplainer
from skcf._index import TrainingRows
from skcf._search import (
    GeneticSearch,
    Pool,
    complete,
    finish,
    further,
    minimal,
    shrink,
    spares,
)

N_UNLIKE = 50
N_FINISHED = 3
# The finish goes on where the generations stop, so that they may stop early.
N_SETTLED = 2


class GeCoExplainer(TabularExplainer):
    """Genetic search for near counterfactuals that keep rules.

    The search starts from the row itself and changes one feature after another, so
    that answers change few of them. New values are drawn from the training rows by
    frequency. Rules are kept all along: values that break them are never drawn, and a
    change that calls for another one brings it along.

    Read more in the :ref:`User Guide <geco>`.

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
        What a change takes; see :class:`~skcf.costs.Cost`. The experiments of the
        paper use the default, ``"geco"`` mixes its three norms.

    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Columns without an order: by dtype, or by names, positions or a mask.

    resolution : "observed", None, float or dict, default="observed"
        The grid of numbers: the decimals seen in the training rows, none, or a step;
        a dict sets it for single columns.

    q : int, default=100
        Candidates of a row that survive a generation, and the most that are scored in
        one.

    k : int, default=5
        A row is settled when its `k` fittest candidates are all counterfactuals and the
        same as a generation ago; with the finish, when the two fittest are.

    m_init : int, default=20
        Values drawn for each feature in the first generation.

    m_mut : int, default=5
        Values drawn for each unchanged feature of a candidate later on.

    mutate : {"best", "all"}, default="best"
        Whether the fittest candidate of each set of changed features is mutated or,
        as by default in the paper, every survivor.

    max_generations : int, default=5
        The most generations after the first one; again as many for rows that are
        without a counterfactual then.

    finish : bool, default=True
        Whether the best candidates are improved by local search, which is not a part
        of the paper's method.

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
    NearestUnlikeExplainer : Returns a training row.

    Notes
    -----
    The method is that of [1]_, and a heuristic: an answer is valid and keeps the rules,
    but a nearer one may exist. What differs from the paper:

    - All rows of a call advance together, one model call a generation.
    - Candidates dearer than the k-th best counterfactual are not scored, as nothing
      bred from them could enter the answer. Of the children, the `q` of which most is
      expected are scored; effects of values are taken to add up (in log-odds).
    - All rules with one consequent group are repaired together, by a value that
      satisfies all of them; rules between features that form a cycle are allowed.
    - `m` values are drawn by systematic sampling: proportional to frequency, and all
      of them where there are no more than `m`.
    - Equal candidates count once, so the `k` fittest are distinct.
    - Where nothing was found, the search starts again from the nearest training rows
      that are in the target. With a `time_limit` two of these are scored first.
    - The finish tries all single changes to observed values, then combinations that are
      composed from the gains of values as fitted to all that was scored; it undoes
      needless changes, tries nearer values of what was changed, and moves numbers to
      the boundary on their grid. Last, all changes of two features are tried that are
      cheaper than the answer, where they are few.

    References
    ----------
    .. [1] Schleich, M., Geng, Z., Zhang, Y., Suciu, D. (2021). GeCo: Quality
       Counterfactual Explanations in Real Time. Proceedings of the VLDB Endowment,
       14(9), 1681-1693. doi:10.14778/3461535.3461555

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.constraints import fixed
    >>> from skcf.tabular import GeCoExplainer
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> explainer = GeCoExplainer(
    ...     LogisticRegression(), constraints=[fixed(1)], random_state=0
    ... )
    >>> explainer.fit(X, y).transform([[1.0, 0.0]])
    array([[3., 0.]])
    """

    _parameter_constraints = {
        **TabularExplainer._parameter_constraints,
        "q": [Interval(Integral, 1, None, closed="left")],
        "k": [Interval(Integral, 1, None, closed="left")],
        "m_init": [Interval(Integral, 1, None, closed="left")],
        "m_mut": [Interval(Integral, 1, None, closed="left")],
        "mutate": [StrOptions({"best", "all"})],
        "max_generations": [Interval(Integral, 0, None, closed="left")],
        "finish": ["boolean"],
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
        k=5,
        m_init=20,
        m_mut=5,
        mutate="best",
        max_generations=5,
        finish=True,
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
        self.k = k
        self.m_init = m_init
        self.m_mut = m_mut
        self.mutate = mutate
        self.max_generations = max_generations
        self.finish = finish
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
        """Return the counterfactuals of every row, and how completely it was searched.

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
            Rules that hold in this call on top of those of the explainer.

        Returns
        -------
        explanation : Explanation
            Its ``details`` have what every tabular explainer gives, and

            - `complete_changes`: an integer for each row. 2 where every lawful change
              of one or two features to observed values was tried that costs less than
              the answer; 1 where every such change of one feature was; 0 where that is
              not known, and for rows that needed no search. Without an answer all
              changes count as cheaper. At most 2,000 changes a row are tried for this
              and 50 where the model itself is asked, and features of more than 5,000
              values are left out of it.
        """
        return super().explain(
            X,
            target=target,
            n_counterfactuals=n_counterfactuals,
            min_distance=min_distance,
            constraints=constraints,
        )

    def _fit_search(self, X):
        self._training = TrainingRows.learn(self._model, self._space, X)

    def _solve(self, problem, rows, k):
        search = GeneticSearch(
            problem,
            q=self.q,
            k=self.k,
            m_init=self.m_init,
            m_mut=self.m_mut,
            mutate=self.mutate,
            max_generations=self.max_generations,
            rescue=None if problem.quick else self._unlike,
            n_settled=min(self.k, N_SETTLED) if self.finish else None,
        )
        pool = search.run(rows)
        if not self.finish or problem.quick:
            return self._pool_answers(problem, pool, k)
        best = finish(problem, pool, rows, N_FINISHED)
        best, level = complete(problem, best, rows, N_FINISHED)
        if k > 1:
            best = self._with_others(problem, best, pool, k)
        else:
            best = Pool.concat([best, spares(problem, pool)])
        answers = self._pool_answers(problem, best, k)
        answers.by_row["complete_changes"] = level
        return answers

    def _nothing(self, query):
        answers = super()._nothing(query)
        answers.by_row["complete_changes"] = np.zeros(len(query), dtype=np.intp)
        return answers

    def _guard(self, query, answers, k):
        kept = super()._guard(query, answers, k)
        if level := answers.by_row:
            # What stands in for an answer that was turned down may be dearer.
            first, left = (_first_of_each(a, len(query)) for a in (answers, kept))
            same = (first == left) | (np.isnan(first) & np.isnan(left))
            level["complete_changes"][~same.all(axis=1)] = 0
        return kept

    def _with_others(self, problem, best, pool, k):
        """Add further answers; the first one does not hang on how many are wanted."""
        bound = problem.least_cost(best)
        others = minimal(problem, shrink(problem, pool, problem.n_ways(k) + N_FINISHED))
        best = Pool.concat([best, others.take(others.cost >= bound[others.row])])
        return further(problem, best, pool, k)

    def _unlike(self, problem, rows):
        """Return the nearest training rows in the target, as far as rules allow."""
        who, at = self._training.nearest(
            problem.x[rows], problem.goal.take(rows), problem.cost, N_UNLIKE
        )
        return problem.ground.towards(rows[who], self._training.codes[at])


def _first_of_each(answers, n):
    """Return the codes of the first answer of each of `n` queries, NaN for none."""
    out = np.full((n, answers.codes.shape[1]), np.nan)
    first = np.flatnonzero(np.diff(answers.row, prepend=-1))
    out[answers.row[first]] = answers.codes[first]
    return out
