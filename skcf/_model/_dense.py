"""Linear models and networks over encoded rows, with the fixed part worked out once."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax

_ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
    "logistic": expit,
}


@dataclass(frozen=True)
class Layers:
    """A stack of affine layers; a linear model is one layer.

    Attributes
    ----------
    weights : tuple of ndarray of shape (n_in, n_out)
    biases : tuple of ndarray of shape (n_out,)
    activation : name of the activation between layers
    link : name of what makes the method's output of the last layer
    method : name of the estimator's method that `scores` reproduces
    """

    weights: tuple
    biases: tuple
    activation: str
    link: str
    method: str

    def __repr__(self):
        return f"{len(self.weights)} layers"

    def encode(self, table):
        """Return what the estimator takes as a matrix of numbers."""
        return table if hasattr(table, "dtype") else table.to_numpy()

    def open(self, rows):
        """Return a session over encoded base rows."""
        return LayersSession(self, rows)

    def finish(self, first):
        """Return the method's output from the first layer's sums."""
        act = _ACTIVATIONS[self.activation]
        out = first
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            out = act(out) @ weight + bias
        return _linked(out, self.link)


class LayersSession:
    """Base rows with their first-layer sums; candidates add what their cells change."""

    def __init__(self, layers, rows):
        self.layers, self.rows = layers, rows
        self.first = rows @ layers.weights[0] + layers.biases[0]

    def scores(self, row, ptr, col, val):
        """Return the method's output of candidates given as changed cells."""
        owner = np.repeat(row, np.diff(ptr))
        step = sparse.csr_array(
            (val - self.rows[owner, col], col, ptr),
            shape=(len(row), self.rows.shape[1]),
        )
        return self.layers.finish(self.first[row] + step @ self.layers.weights[0])


def read_layers(estimator):
    """Return the layers of a fitted linear model or network, None for another one."""
    module = type(estimator).__module__
    if not module.startswith("sklearn."):
        return None
    if module.startswith("sklearn.neural_network._multilayer_perceptron"):
        return _read_network(estimator)
    if module.startswith(("sklearn.linear_model.", "sklearn.svm._classes")):
        return _read_linear(estimator)
    return None


def _read_network(estimator):
    classifier = hasattr(estimator, "classes_")
    link = {"identity": "flat", "logistic": "pair", "softmax": "softmax"}
    if classifier and getattr(estimator, "n_outputs_", 1) > 1:
        if estimator.out_activation_ != "softmax":
            return None
    if not classifier and estimator.n_outputs_ != 1:
        return None
    return Layers(
        tuple(np.asarray(w, dtype=np.float64) for w in estimator.coefs_),
        tuple(np.asarray(b, dtype=np.float64) for b in estimator.intercepts_),
        estimator.activation,
        link[estimator.out_activation_],
        "predict_proba" if classifier else "predict",
    )


def _read_linear(estimator):
    coef = getattr(estimator, "coef_", None)
    if coef is None or sparse.issparse(coef):
        return None
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    bias = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64))
    if len(bias) == 1:
        bias = np.repeat(bias, len(coef))
    if not hasattr(estimator, "classes_"):
        if len(coef) > 1 or type(estimator).__name__.endswith(_CURVED):
            return None
        return Layers((coef.T,), (bias,), "identity", "flat", "predict")
    if not hasattr(estimator, "decision_function"):
        return None
    if not hasattr(estimator, "predict_proba"):
        link, method = ("flat" if len(coef) == 1 else "wide"), "decision_function"
    elif len(coef) == 1:
        link, method = "pair", "predict_proba"
    else:
        link, method = "softmax", "predict_proba"
    return Layers((coef.T,), (bias,), "identity", link, method)


# Regressors whose prediction is not the linear sum itself.
_CURVED = ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")


def _linked(out, link):
    match link:
        case "flat":
            return out[:, 0]
        case "pair":
            p = expit(out[:, 0])
            return np.column_stack([1.0 - p, p])
        case "softmax":
            return softmax(out, axis=1)
    return out
