"""Random candidates, on which views are held against their models."""

import numpy as np

from skcf._model import BlackBox
from skcf._model._trees import FlatTrees
from skcf._space import Candidates, FeatureSpace


def wrap(model, X, y=None, threshold=None, **space):
    return BlackBox(model, FeatureSpace(X, **space), X, y, threshold)


def agree(box, X, seed=0, n=10, atol=1e-9):
    """Assert that the view scores random candidates as the model does.

    Each row gets `n` candidates that change any number of groups to observed values,
    and some of these a number between the observed ones or right at a split.
    """
    space, random = box.space, np.random.RandomState(seed)
    values = space.values.fork()
    x = space.encode(X)
    row = np.repeat(np.arange(len(X)), n)
    width = random.randint(0, len(space.groups) + 1, len(row))
    pick = np.argsort(random.rand(len(row), len(space.groups)), axis=1)
    size = np.diff(space.values.offsets)[pick]
    ids = space.values.offsets[pick] + (random.rand(*pick.shape) * size).astype(int)
    ids[np.arange(pick.shape[1]) >= width[:, None]] = -1
    cands = Candidates(row, ids).tidy(values)
    for numbers in (between(space, random, len(row)), splits(box, random, len(row))):
        put = np.full(len(row), -1)
        for g, new in numbers.items():
            at = random.permutation(len(row))[: min(len(new), len(row) // 4)]
            put[at] = values.add(np.full(len(at), g), new[: len(at)])
        cands = cands.put(put, values)
    told, _ = box.view.open(X, x, values).output(cands)
    truth, _ = box.output(space.decode(cands.codes(x, values), X, cands.row))
    np.testing.assert_allclose(told, truth, rtol=0, atol=atol * max(1.0, box.scale))
    return len(row)


def numeric_groups(space):
    """Return {group: column} of numbers that stand alone and vary."""
    return {
        g: space.columns[j]
        for g, j in enumerate(space.values.single)
        if j >= 0 and space.columns[j].kind == "numeric"
        if len(space.columns[j].domain) > 1
    }


def between(space, random, n):
    """Return numbers between the observed ones, by group."""
    return {
        g: column.snap(random.uniform(column.domain[0], column.domain[-1], n))
        for g, column in numeric_groups(space).items()
    }


def splits(box, random, n):
    """Return raw numbers that end up on split thresholds or right next to them."""
    out = {}
    views = getattr(box.view, "views", [box.view])
    for view in views:
        if not isinstance(view.kernel, FlatTrees):
            continue
        trees, encoding = view.kernel, view.encoding
        for g, column in numeric_groups(box.space).items():
            for col in np.flatnonzero(encoding.group_of == g):
                at = trees.threshold[(trees.feature == col) & (trees.category < 0)]
                at = at[np.isfinite(at)]
                if len(at):
                    raw = undo(encoding, box.space, g, column, col, at)
                    near = beside(column, raw)
                    out[g] = random.permutation(near)[:n]
    return out


def undo(encoding, space, g, column, col, cells):
    """Return the numbers that a column encoded by a line turns into `cells`."""
    ends = np.array([column.domain[0], column.domain[-1]])
    codes = np.tile(space.values.table(0)[0, 0], (2, space.n_features))
    for k, members in enumerate(space.groups):
        codes[:, list(members)] = space.values.table(k)[0]
    codes[:, space.values.single[g]] = ends
    low, high = np.asarray(encoding.transform(space.decode(codes)))[:, col]
    if low == high:
        return np.empty(0)
    return ends[0] + (cells - low) * (ends[1] - ends[0]) / (high - low)


def beside(column, raw):
    """Return numbers with their neighbours among floats of both sizes."""
    lots = []
    for type_ in (np.float32, np.float64):
        number = raw.astype(type_)
        for side in (-np.inf, np.inf):
            step = np.nextafter(number, type_(side))
            lots += [step, np.nextafter(step, type_(side))]
        lots.append(number)
    near = column.snap(np.concatenate(lots).astype(np.float64))
    return near[(near >= column.domain[0]) & (near <= column.domain[-1])]
