"""Plausible points: an isolation forest as one more row over more trees."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from sklearn.ensemble import IsolationForest

N_TREES = 50
EULER = 0.5772156649015329


@dataclass(frozen=True, eq=False)
class Plausible:
    """The trees of a model with those of an isolation forest behind them.

    A point is plausible if it takes as many splits to isolate it, over all trees, as
    it takes for a training row at a quantile.

    Attributes
    ----------
    forest : IsolationForest
        Fitted on encoded training rows.
    trees : FlatTrees
        The leaves of the isolation forest add nothing to the scores.
    depth : ndarray of shape (n_nodes,)
        What each leaf of the isolation forest adds to the depth, 0 elsewhere.
    least : float
        The least sum of depths.
    """

    forest: IsolationForest
    trees: object
    depth: np.ndarray
    least: float

    @classmethod
    def learn(cls, model, X, quantile, random_state):
        """Fit an isolation forest to training rows.

        Parameters
        ----------
        model : BlackBox
            With a view of trees.
        X : table
        quantile : float
            The part of the training rows that counts as implausible.
        random_state : int
        """
        view = model.view
        rows = view.encoding.transform(X)
        rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        rows = rows.astype(np.float64)
        if np.isnan(rows).any() or not np.isnan(view.kernel.missing):
            raise ValueError(
                "plausibility needs rows without missing values; some of the encoded "
                "training rows have them, or the model takes a number for missing."
            )
        forest = IsolationForest(
            n_estimators=N_TREES, random_state=random_state, n_jobs=1
        )
        forest.fit(rows)
        whole = N_TREES * _unbuilt(np.array([forest.max_samples_]))[0]
        sums = -np.log2(-forest.score_samples(rows)) * whole
        least = float(np.quantile(sums, quantile, method="lower")) * (1 - 1e-9)
        trees, depth = _joined(view.kernel, forest)
        return cls(forest, trees, depth, least)


def _joined(kernel, forest):
    """Return the trees of a model and of a forest, and what leaves add to the depth."""
    parts = {
        name: [getattr(kernel, name)]
        for name in ("root", "feature", "threshold", "left", "right")
    }
    n = len(kernel.feature)
    depth = [np.zeros(n)]
    for fitted, columns in zip(
        forest.estimators_, forest.estimators_features_, strict=True
    ):
        tree = fitted.tree_
        leaf = tree.children_left < 0
        parts["root"].append([n])
        parts["feature"].append(np.where(leaf, -1, columns[tree.feature]))
        parts["threshold"].append(_last_left(tree.threshold, kernel.precision))
        parts["left"].append(np.where(leaf, -1, tree.children_left + n))
        parts["right"].append(np.where(leaf, -1, tree.children_right + n))
        depth.append(np.where(leaf, _depths(tree), 0.0))
        n += tree.node_count
    more = n - len(kernel.feature)
    joined = {
        name: np.concatenate(part).astype(getattr(kernel, name).dtype)
        for name, part in parts.items()
    }
    return replace(
        kernel,
        **joined,
        slot=np.append(kernel.slot, np.zeros(N_TREES, dtype=np.int32)),
        missing_left=np.append(kernel.missing_left, np.zeros(more, dtype=bool)),
        category=np.append(kernel.category, np.full(more, -1)),
        value=np.vstack([kernel.value, np.zeros((more, kernel.value.shape[1]))]),
    ), np.concatenate(depth)


def _last_left(threshold, precision):
    """Return the largest number, in the model's precision, that goes left.

    The isolation forest rounds its input to float32.
    """
    low = threshold.astype(np.float32)
    above = low > threshold
    low[above] = np.nextafter(low[above], np.float32(-np.inf))
    if precision == "float32":
        return low.astype(np.float64)
    after = np.nextafter(low, np.float32(np.inf))
    middle = (low.astype(np.float64) + after.astype(np.float64)) / 2
    stays = middle.astype(np.float32) == low
    return np.where(stays, middle, np.nextafter(middle, -np.inf))


def _depths(tree):
    """Return for each node the splits above it, and those that were not built below."""
    depth = np.zeros(tree.node_count)
    for node in range(tree.node_count):
        # Children come behind their parents.
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
    return depth + _unbuilt(tree.n_node_samples)


def _unbuilt(n):
    """Return the mean number of splits that isolate one of `n` points."""
    n = np.asarray(n, dtype=np.float64)
    some = np.maximum(n, 3.0)
    many = 2.0 * (np.log(some - 1.0) + EULER) - 2.0 * (some - 1.0) / some
    return np.where(n <= 1, 0.0, np.where(n <= 2, 1.0, many))
