"""Votes and calibrated models, as one model where they are one."""

from dataclasses import replace

import numpy as np

from skcf._model._dense import Layers
from skcf._model._trees import FlatTrees


def mean_of(kernels, weights=None):
    """Return the weighted mean of trees or linear models, None where it is neither.

    Sums of leaves, and of products, are sums of such again. That does not hold behind
    a link: a mean of probabilities that are each a sigmoid is no sigmoid.

    Parameters
    ----------
    kernels : list of FlatTrees or Layers
    weights : ndarray of shape (n_kernels,), default=None
    """
    share = np.ones(len(kernels)) if weights is None else weights
    if not (len(kernels) and share.sum() > 0 and (share >= 0).all()):
        return None
    share = share / share.sum()
    first = kernels[0]
    if all(isinstance(k, FlatTrees) and _alike(k, first) for k in kernels):
        return _mean_of_trees(kernels, share)
    if all(isinstance(k, Layers) and _is_line(k) for k in kernels):
        weight = sum(s * k.weights[0] for s, k in zip(share, kernels, strict=True))
        bias = sum(s * k.biases[0] for s, k in zip(share, kernels, strict=True))
        return replace(first, weights=(weight,), biases=(bias,))
    return None


def sigmoid_of(kernel, slope, offset):
    """Return the model of two classes whose log-odds are a line in a score, or None.

    Parameters
    ----------
    kernel : FlatTrees or Layers
        Of the score, or of two probabilities of which the second is the score.
    slope, offset : float
    """
    if isinstance(kernel, FlatTrees) and kernel.link == "identity":
        last = kernel.value[:, -1:]
        if kernel.value.shape[1] != len(kernel.base) or kernel.slot.any():
            return None
        return replace(
            kernel,
            value=slope * last,
            base=slope * kernel.base[-1:] + offset,
            link="sigmoid",
            method="predict_proba",
        )
    one = isinstance(kernel, Layers) and len(kernel.weights) == 1
    if one and (kernel.link, kernel.method) == ("flat", "decision_function"):
        return replace(
            kernel,
            weights=(slope * kernel.weights[0],),
            biases=(slope * kernel.biases[0] + offset,),
            link="pair",
            method="predict_proba",
        )
    return None


def _alike(one, two):
    """Tell whether the leaves of two ensembles add up to one number."""
    same = one.coding == two.coding and one.method == two.method
    same = same and one.value.shape[1] == two.value.shape[1]
    same = same and len(one.base) == len(two.base)
    return same and one.link == two.link == "identity"


def _is_line(layers):
    return len(layers.weights) == 1 and (layers.link, layers.method) == (
        "flat",
        "predict",
    )


def _mean_of_trees(parts, share):
    """Return the trees of all parts as one ensemble."""
    node = np.cumsum([0, *(len(p.feature) for p in parts)])
    word = np.cumsum([0, *(len(p.bits) for p in parts)])

    def join(name, begin=None):
        arrays = [getattr(p, name) for p in parts]
        if begin is not None:
            arrays = [
                np.where(a < 0, a, a + b).astype(a.dtype)
                for a, b in zip(arrays, begin, strict=False)
            ]
        return np.concatenate(arrays)

    moved = {name: join(name, node) for name in ("root", "left", "right")}
    names = ("slot", "feature", "threshold", "missing_left", "bits")
    return replace(
        parts[0],
        **moved,
        **{name: join(name) for name in names},
        category=join("category", word),
        value=np.concatenate([s * p.value for s, p in zip(share, parts, strict=True)]),
        base=sum(s * p.base for s, p in zip(share, parts, strict=True)),
    )
