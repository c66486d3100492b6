"""GeCo: genetic counterfactuals that respect rules."""

from numbers import Integral

from sklearn.utils._param_validation import Interval, StrOptions

from skcf._base import TabularExplainer
from skcf._index import TrainingRows
from skcf._search import GeneticSearch, finish

N_UNLIKE = 50
N_FINISHED = 3


class GeCoExplainer(TabularExplainer):
    """Genetic search for counterfactuals that change few features.
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
        max_generations=10,
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

    def _fit_search(self, X):
        self._training = TrainingRows.learn(self._model, self._space, X)

    def _solve(self, problem, rows, k):
        wanted, k = k, max(k, self.k)
        search = GeneticSearch(
            problem,
            q=max(self.q, k),
            k=k,
            m_init=self.m_init,
            m_mut=self.m_mut,
            mutate=self.mutate,
            max_generations=self.max_generations,
            rescue=None if problem.quick else self._unlike,
        )
        pool = search.run(rows)
        if self.finish and not problem.quick:
            pool = finish(problem, pool, rows, max(wanted, N_FINISHED))
        return self._pool_answers(problem, pool, k)

    def _unlike(self, problem, rows):
        """Return the nearest training rows in the target, as far as rules allow."""
        who, at = self._training.nearest(
            problem.x[rows], problem.goal.take(rows), problem.cost, N_UNLIKE
        )
        return problem.ground.towards(rows[who], self._training.codes[at])
