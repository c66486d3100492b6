"""Nearest points: by looking at all of them or, where there are many, by a graph."""

from threading import Lock

import numpy as np

from skcf._index._order import joining_order

# Up to here, comparing with all points takes no longer than the rest of a search, about
# 20 ms a query; a graph pays for its construction after some ten thousand queries only.
N_MANY = 300_000
MAX_CELLS = 4_000_000
N_LINKS = 16
EF_BUILD = 100
EF_SEARCH = (64, 128, 256, 512, 1024, 2048)
N_TRIALS = 200
K_TRIAL = 30
RECALL = 0.995
# A graph that finds fewer even by the widest search is not used.
LEAST_RECALL = 0.992
OVERFETCH = 4
# Larger requests are answered by looking at all points.
MAX_FETCH = 2048
DIGITS = 9
# What a product of matrices may be off by, as a share of the squares.
ROUGH = 1e-5
# Pairs that are worked out in one go.
LOT = 100_000
# The width of a search is set on the graph before it is asked.
_ASKING = Lock()


class NearestPoints:
    """Points with a label each, to be asked for the nearest ones of some labels.

    Parameters
    ----------
    points : ndarray of float32 of shape (n_points, n_dimensions)
    label : ndarray of int of shape (n_points,)
        Small whole numbers from 0 on.
    method : {"auto", "exact", "hnsw"}
        "exact" compares with all points. "hnsw" builds a navigable graph for each
        label, which misses a neighbour now and then. "auto" does so from 300,000 points
        of a label on, if hnswlib is installed.

    Attributes
    ----------
    methods : list of str
        What each label got, "exact" or "hnsw".
    """

    def __init__(self, points, label, method="auto"):
        self.points = np.ascontiguousarray(points, dtype=np.float32)
        self.members = [
            np.flatnonzero(label == k) for k in range(int(label.max(initial=-1)) + 1)
        ]
        self._parts = [_part(self.points[at], method) for at in self.members]

    def __len__(self):
        return len(self.points)

    @property
    def methods(self):
        """What each label got."""
        return ["exact" if part.k_max is None else "hnsw" for part in self._parts]

    def nearest(self, points, k, wanted=None, keep=None):
        """Return (query, point, distance) of the `k` nearest points of each query.

        Parameters
        ----------
        points : ndarray of shape (n_queries, n_dimensions)
        k : int
            There are fewer only where fewer exist.
        wanted : ndarray of bool of shape (n_queries, n_labels), default=None
            The labels that count for each query; None for all.
        keep : callable, default=None
            Tells of pairs of query and point which of them may be returned. More are
            fetched until there are `k`, or no more.

        Returns
        -------
        query, point : ndarray of shape (n_found,)
            Sorted by query, distance, and point.
        distance : ndarray of shape (n_found,)
            Squared Euclidean distances.
        """
        points = np.ascontiguousarray(points, dtype=np.float32)
        if wanted is None:
            wanted = np.ones((len(points), len(self.members)), dtype=bool)
        todo, size = np.arange(len(points)), k if keep is None else OVERFETCH * k
        found = [[np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0)]]
        most = max((len(at) for at in self.members), default=0)
        while len(todo):
            who, at, gap = self._fetch(points[todo], size, wanted[todo])
            who = todo[who]
            if keep is not None:
                ok = keep(who, at)
                who, at, gap = who[ok], at[ok], gap[ok]
            have = np.bincount(who, minlength=len(points))[todo]
            done = (have >= k) | (size >= most)
            which = np.isin(who, todo[done])
            found.append([who[which], at[which], gap[which]])
            todo, size = todo[~done], size * OVERFETCH
        who, at, gap = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.lexsort((at, gap, who))
        order = order[_rank(who[order]) < k]
        return who[order], at[order], gap[order]

    def _fetch(self, points, k, wanted):
        """Return (query, point, distance) of the `k` nearest of each wanted label."""
        found = [[np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0)]]
        for part, members, which in zip(
            self._parts, self.members, wanted.T, strict=True
        ):
            rows = np.flatnonzero(which)
            if len(rows) and len(members):
                gap, at = part.nearest(points[rows], min(k, len(members)))
                who = np.repeat(rows, at.shape[1])
                found.append([who, members[at.ravel()], gap.ravel()])
        return [np.concatenate(part) for part in zip(*found, strict=True)]


def check_method(method):
    """Raise an error that names the extra if hnswlib is asked for and missing."""
    if method == "hnsw" and _hnswlib() is None:
        raise ImportError(
            "index='hnsw' needs hnswlib; install it with: pip install skcf[index]"
        )


class _Exact:
    """All points, compared with each query."""

    k_max = None

    def __init__(self, points):
        self.points = points
        self._square = np.einsum("ij,ij->i", points, points)

    def nearest(self, points, k):
        n = len(self.points)
        gaps, places = np.empty((len(points), k)), np.empty((len(points), k), np.intp)
        step = max(1, MAX_CELLS // n)
        for begin in range(0, len(points), step):
            some = points[begin : begin + step]
            gap = some @ self.points.T
            gap *= -2
            gap += self._square
            gap += np.einsum("ij,ij->i", some, some)[:, None]
            if k < n:
                last = np.partition(gap, k - 1, axis=1)[:, k - 1]
            else:
                last = np.full(len(some), np.inf)
            at = slice(begin, begin + step)
            gaps[at], places[at] = self._nearest_of(some, gap, last, k)
        return gaps, places

    def _nearest_of(self, some, gap, last, k):
        """Return the `k` least distances of each query and where, ties by place.

        Products of matrices have digits that hang on the batch: those that may be among
        the nearest are worked out anew, one by one.
        """
        room = ROUGH * (1.0 + self._square.max(initial=0.0) + last)
        who, at = np.nonzero(gap <= (last + room)[:, None])
        value = np.empty(len(who))
        for begin in range(0, len(who), LOT):
            lot = slice(begin, begin + LOT)
            apart = some[who[lot]].astype(np.float64) - self.points[at[lot]]
            value[lot] = np.round(np.square(apart).sum(axis=1), DIGITS)
        order = np.lexsort((at, value, who))
        order = order[_rank(who) < k]
        return value[order].reshape(-1, k), at[order].reshape(-1, k)


class _Graph:
    """A navigable small world graph of hnswlib, tuned to find what is near.

    It is built by one thread, so that it is the same each time, and searched by one.
    How widely it is searched is settled by trials: the least of some widths that finds
    99.5 % of the thirty nearest of points that are not in it yet. A graph that misses
    99.2 % by the greatest of them is not used.
    """

    def __init__(self, points, k_max):
        hnswlib = _hnswlib()
        self.exact, self.k_max = _Exact(points), k_max
        graph = hnswlib.Index(space="l2", dim=points.shape[1])
        graph.init_index(
            len(points), M=N_LINKS, ef_construction=EF_BUILD, random_seed=0
        )
        graph.set_num_threads(1)
        self._graph = graph
        # The last to join the others are the queries of the trials.
        order = np.random.default_rng(0).permutation(len(points))
        first, last = np.split(order, [max(1, len(points) - N_TRIALS)])
        first = first[joining_order(points[first])]
        graph.add_items(points[first], first, num_threads=1)
        self.width, self.recall = self._tune(points[first], points[last])
        graph.add_items(points[last], last, num_threads=1)

    def _tune(self, points, queries):
        if not len(queries):
            return EF_SEARCH[0], 1.0
        k = min(K_TRIAL, len(points))
        true = _Exact(points).nearest(queries, k)[0]
        for width in EF_SEARCH:
            self._graph.set_ef(max(width, k))
            gap = self._graph.knn_query(queries, k=k, num_threads=1)[1]
            # Of points as near as the last one, any will do.
            recall = np.mean(gap <= true[:, -1:] * (1 + 1e-5) + 10.0**-DIGITS)
            if recall >= RECALL:
                break
        return width, float(recall)

    def nearest(self, points, k):
        if k > self.k_max:
            return self.exact.nearest(points, k)
        with _ASKING:
            self._graph.set_ef(max(self.width, 2 * k))
            at, gap = self._graph.knn_query(points, k=k, num_threads=1)
        return gap.astype(np.float64), at.astype(np.intp)


def _part(points, method):
    """Return what looks for the nearest of some points."""
    many = len(points) >= (N_MANY if method == "auto" else 1)
    if method == "exact" or not many or not points.shape[1] or _hnswlib() is None:
        return _Exact(points)
    graph = _Graph(points, MAX_FETCH)
    return graph if graph.recall >= LEAST_RECALL else graph.exact


def _hnswlib():
    try:
        import hnswlib
    except ImportError:
        return None
    return hnswlib


def _rank(row):
    """Return the rank of each entry among those of its row; rows are sorted."""
    return np.arange(len(row)) - np.searchsorted(row, row)
