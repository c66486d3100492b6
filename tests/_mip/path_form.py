"""The textbook program of a forest: paths to leaves with large constants.

Every test on the way to a leaf is a row on the number itself that binds where the leaf
is chosen. It knows nothing of cells, and takes numbers between thresholds as they are;
thresholds between integers make it exact.
"""

import numpy as np

from skcf._mip._adapter import Mip


def least_cost(forest, x, low, high, price, label):
    """Return the least weighted sum of changes at which a forest says `label`.

    Parameters
    ----------
    forest : RandomForestClassifier
        With two classes, trained on integers.
    x, low, high, price : ndarray of shape (n_features,)
    label : int
    """
    mip = Mip()
    cf = [mip.variable("x", a, b, integer=True) for a, b in zip(low, high, strict=True)]
    size = [mip.variable("d") for _ in x]
    for c, d, own in zip(cf, size, x, strict=True):
        mip.require(d - c >= -float(own))
        mip.require(d + c >= float(own))
    score = []
    for estimator in forest.estimators_:
        tree, leaves = estimator.tree_, []
        stack = [(0, [])]
        while stack:
            node, path = stack.pop()
            if tree.children_left[node] < 0:
                z = mip.binary("z")
                leaves.append((z, 1.0))
                score.append((z, tree.value[node, 0, label] - 0.5))
                for j, at, left in path:
                    at = float(at)
                    if left:
                        gap = float(high[j]) - at
                        mip.require(cf[j] + gap * z <= at + gap)
                    else:
                        gap = at + 0.5 - float(low[j])
                        mip.require(cf[j] - gap * z >= at + 0.5 - gap)
                continue
            j, at = tree.feature[node], np.floor(tree.threshold[node])
            stack.append((tree.children_left[node], [*path, (j, at, True)]))
            stack.append((tree.children_right[node], [*path, (j, at, False)]))
        mip.require(mip.total(leaves) == 1.0)
    mip.require(mip.total(score) >= 1e-6)
    mip.minimize(mip.total(zip(size, price, strict=True)))
    said = mip.solve()
    return said.objective if said.status == "optimal" else np.inf
