"""Model calls that do not spend their time on waking threads."""

from contextlib import ExitStack, contextmanager

from joblib import parallel_config
from threadpoolctl import ThreadpoolController

# Below these, threads cost more than they bring: histogram gradient boosting and
# XGBoost lose milliseconds a call where other work keeps a core busy, and forests with
# n_jobs start a pool each time. Longer calls keep what the estimator was set to.
FEW_ROWS = 10_000
SHORT = 0.25


class SingleThread:
    """Keeps estimators to one thread while they score a few rows.

    With one thread a forest with `n_jobs` also adds up its trees in their order, which
    a pool of threads does not, so that the same row gets the same digits.
    """

    def __init__(self):
        self._controller = None

    def __getstate__(self):
        # Handles of the libraries of this process.
        return {"_controller": None}

    @contextmanager
    def limit(self, n_rows, rate=0.0, in_order=False):
        """Return a context for a call with so many rows of `rate` seconds each.

        If it has to be `in_order`, long calls too keep to one of scikit-learn's jobs.
        """
        short = n_rows < FEW_ROWS and n_rows * rate < SHORT
        with ExitStack() as stack:
            if short or in_order:
                stack.enter_context(parallel_config(backend="sequential"))
            if short:
                if self._controller is None:
                    self._controller = ThreadpoolController()
                one = self._controller.limit(limits=1, user_api="openmp")
                stack.enter_context(one)
            yield
