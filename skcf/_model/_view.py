"""White-box views of a model: what a search may ask instead of the model itself."""

import numpy as np
from scipy import sparse

from skcf._model._encoding import EncodedQueries
from skcf._model._threads import SingleThread
from skcf._model._trees import FlatTrees


class View:
    """A model read as tables from values to encoded cells, and a kernel over these.

    A view guides a search; whether a row is valid the model itself decides.

    Attributes
    ----------
    asks : bool
        Whether the kernel asks the final estimator, so that its calls count.
    """

    def __init__(self, encoding, kernel):
        self.encoding, self.kernel = encoding, kernel
        self.asks = isinstance(kernel, Opaque)

    def __repr__(self):
        return repr(self.kernel)

    @property
    def compiled(self):
        """Whether compiled code does all the work."""
        return isinstance(self.kernel, FlatTrees)

    def open(self, table, x, values):
        """Return a session over the queries of a problem."""
        return ViewSession(self, EncodedQueries(self.encoding, table, x, values))


class ViewSession:
    """A view with the queries of a problem worked out."""

    def __init__(self, view, queries):
        self.asks, self.queries = view.asks, queries
        self.kernel = view.kernel.open(queries.rows)

    def output(self, cands):
        """Return what the black box's `output` does, of candidates."""
        scores = self.kernel.scores(cands.row, *self.queries.cells(cands))
        return scores, scores


class Blend:
    """Views of the members of an ensemble, and the formula that joins their scores.

    Parameters
    ----------
    views : list of View
        Those behind the same preprocessing share one encoding.
    formula : Formula
    """

    asks = False

    def __init__(self, views, formula):
        self.views, self.formula = views, formula

    def __repr__(self):
        return " + ".join(map(repr, self.views))

    @property
    def compiled(self):
        """Whether compiled code does all the work."""
        return all(view.compiled for view in self.views)

    def open(self, table, x, values):
        """Return a session over the queries of a problem."""
        return BlendSession(self, table, x, values)


class BlendSession:
    """The members' sessions; cells of a shared encoding are looked up once."""

    asks = False

    def __init__(self, blend, table, x, values):
        self.formula, self.queries, self.members = blend.formula, [], []
        known = {}
        for view in blend.views:
            at = known.setdefault(id(view.encoding), len(known))
            if at == len(self.queries):
                queries = EncodedQueries(view.encoding, table, x, values)
                self.queries.append(queries)
            kernel = view.kernel.open(self.queries[at].rows)
            self.members.append((at, kernel))

    def output(self, cands):
        """Return what the black box's `output` does, of candidates."""
        cells = [queries.cells(cands) for queries in self.queries]
        told = (kernel.scores(cands.row, *cells[at]) for at, kernel in self.members)
        scores = self.formula.value(told)
        return scores, scores


class Opaque:
    """A final estimator of which nothing is known: only its preprocessing is saved."""

    coding = "as it comes"

    def __init__(self, estimator, method):
        self.estimator, self.method, self.dtype = estimator, method, None
        self.threads = SingleThread()

    def __repr__(self):
        return f"a table before {type(self.estimator).__name__}"

    def encode(self, table):
        """Return encoded rows; the estimator has to have been trained on a matrix."""
        if not isinstance(table, np.ndarray) and not sparse.issparse(table):
            raise TypeError("the final estimator takes a frame")
        self.dtype = table.dtype
        return table

    def open(self, rows):
        """Return a session over encoded base rows."""
        return OpaqueSession(self, rows)


class OpaqueSession:
    """Base rows of an opaque estimator; candidates are written out in full."""

    def __init__(self, opaque, rows):
        self.opaque, self.rows = opaque, rows

    def scores(self, row, ptr, col, val):
        """Return the method's output of candidates given as changed cells."""
        X = self.rows[row]
        X[np.repeat(np.arange(len(row)), np.diff(ptr)), col] = val
        scores = getattr(self.opaque.estimator, self.opaque.method)
        with self.opaque.threads.limit(len(X)):
            return np.asarray(scores(X.astype(self.opaque.dtype)), dtype=np.float64)
