"""An index finds the nearest points, all of them that a filter leaves."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._index import NearestPoints, check_method

FEW = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def naive(points, label, queries, k, wanted, keep):
    """Return what `nearest` is to return, by a loop."""
    out = []
    for q, query in enumerate(queries):
        gap = ((points - query) ** 2).sum(axis=1)
        ok = [i for i in range(len(points)) if wanted[q, label[i]] and keep[q, i]]
        out += [(q, i) for i in sorted(ok, key=lambda i: (round(gap[i], 5), i))[:k]]
    return out


@FEW
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 9))
def test_all_points_are_looked_at(seed, n, k):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, 3)).astype(np.float32)
    label = rng.integers(0, 3, n)
    queries = rng.integers(0, 4, (4, 3)).astype(np.float32)
    index = NearestPoints(points, label, "exact")
    wanted = rng.random((4, label.max() + 1)) < 0.6
    keep = rng.random((4, n)) < 0.5
    who, at, gap = index.nearest(queries, k, wanted, lambda q, i: keep[q, i])
    assert list(zip(who, at, strict=True)) == naive(
        points, label, queries, k, wanted, keep
    )
    assert np.allclose(gap, ((points[at] - queries[who]) ** 2).sum(axis=1))


def clouds(n, d=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, d))
    points = centres[rng.integers(0, 20, n)] + 0.3 * rng.normal(size=(n, d))
    return points.astype(np.float32), rng.integers(0, 2, n)


@pytest.fixture(scope="module")
def graph():
    pytest.importorskip("hnswlib")
    return NearestPoints(*clouds(4000), "hnsw")


def test_a_graph_finds_nearly_all_neighbours(graph):
    points, label = clouds(4000)
    exact = NearestPoints(points, label, "exact")
    assert graph.methods == ["hnsw", "hnsw"] and exact.methods == ["exact", "exact"]
    queries, _ = clouds(300, seed=1)
    wanted = np.random.default_rng(0).random((300, 2)) < 0.7
    true = exact.nearest(queries, 10, wanted)
    found = graph.nearest(queries, 10, wanted)
    assert (np.bincount(found[0]) == np.bincount(true[0])).all()
    same = {*zip(*found[:2], strict=True)} & {*zip(*true[:2], strict=True)}
    assert len(same) >= 0.99 * len(true[0])


@pytest.mark.parametrize("share", [0.3, 0.002, 0.0])
def test_a_filter_never_leaves_fewer_than_there_are(graph, share):
    keep = np.random.default_rng(0).random(4000) < share
    queries, _ = clouds(50, seed=2)
    who, at, _ = graph.nearest(queries, 12, None, lambda q, i: keep[i])
    assert keep[at].all()
    assert (np.bincount(who, minlength=50) == min(12, keep.sum())).all()
    exact = NearestPoints(*clouds(4000), "exact")
    true = exact.nearest(queries, 12, None, lambda q, i: keep[i])
    if share < 0.01:
        # So few are looked for among all points.
        assert at.tolist() == true[1].tolist()


def test_more_neighbours_than_points(graph):
    who, _, _ = graph.nearest(clouds(3, seed=3)[0], 5000)
    assert np.bincount(who).tolist() == [4000] * 3


def test_a_graph_is_the_same_each_time_and_after_pickling(graph):
    queries, _ = clouds(100, seed=4)
    first = graph.nearest(queries, 7)
    for other in (
        NearestPoints(*clouds(4000), "hnsw"),
        pickle.loads(pickle.dumps(graph)),
    ):
        for a, b in zip(first, other.nearest(queries, 7), strict=True):
            assert a.tolist() == b.tolist()
    alone = [graph.nearest(queries[[i]], 7)[1].tolist() for i in range(20)]
    assert alone == [first[1][first[0] == i].tolist() for i in range(20)]


def test_few_points_need_no_graph():
    assert NearestPoints(*clouds(500), "auto").methods == ["exact", "exact"]


def test_the_extra_is_named():
    check_method("auto")
    code = (
        "import sys; sys.modules['hnswlib'] = None\n"
        "from skcf._index import NearestPoints, check_method\n"
        "import numpy as np\n"
        "check_method('auto')\n"
        "points = np.zeros((3, 1))\n"
        "print(NearestPoints(points, np.zeros(3, int), 'hnsw').methods)\n"
        "try:\n    check_method('hnsw')\n"
        "except ImportError as error:\n    print(error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert told[0] == "['exact']"
    assert "skcf[index]" in told[1]
