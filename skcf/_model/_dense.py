"""Linear models and networks over encoded rows, with the fixed part worked out once."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax

from skcf._model._cells import first_sums
from skcf._model._links import pair, shares

# They work in place.
_ACTIVATIONS = {
    "identity": lambda z: None,
    "relu": lambda z: np.maximum(z, 0.0, out=z),
    "tanh": lambda z: np.tanh(z, out=z),
    "logistic": lambda z: expit(z, out=z),
}
# So many rows stay in the processor's cache from layer to layer, and layers of them are
# too small for BLAS to wake its threads.
N_ROWS = 512


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

    coding = "numbers"

    def __repr__(self):
        return f"{len(self.weights)} layers"

    def encode(self, table):
        """Return what the estimator takes as a matrix of numbers."""
        table = table if hasattr(table, "dtype") else table.to_numpy()
        return table.astype(np.float64) if table.dtype == object else table

    def open(self, rows):
        """Return a session over encoded base rows."""
        return LayersSession(self, rows)

    def last(self, first):
        """Return the last layer's sums from those of the first, which are lost."""
        act, out = _ACTIVATIONS[self.activation], first
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            act(out)
            out = out @ weight
            out += bias
        return out


class LayersSession:
    """Base rows with their first-layer sums; candidates add what their cells change."""

    def __init__(self, layers, rows):
        self.layers, self.rows = layers, np.ascontiguousarray(rows, dtype=np.float64)
        self._weight = np.ascontiguousarray(layers.weights[0])
        self._first = self.rows @ self._weight + layers.biases[0]

    def scores(self, row, ptr, col, val):
        """Return the method's output of candidates given as changed cells."""
        row, ptr, col = (
            np.ascontiguousarray(a, dtype=np.int64) for a in (row, ptr, col)
        )
        val = np.ascontiguousarray(val, dtype=np.float64)
        layers, base = self.layers, (self._first, self.rows, self._weight)
        out = np.empty((len(row), len(layers.biases[-1])))
        for begin in range(0, len(row), N_ROWS):
            end = min(begin + N_ROWS, len(row))
            at, cells = row[begin:end], ptr[begin : end + 1]
            out[begin:end] = layers.last(first_sums(*base, at, cells, col, val))
        return _linked(out, layers.link)


def read_layers(estimator, method):
    """Return the layers behind a fitted estimator's method, None where unknown."""
    module = type(estimator).__module__
    if not hasattr(estimator, method):
        return None
    if module.startswith("sklearn.neural_network._multilayer_perceptron"):
        return _read_network(estimator, method)
    if module.startswith(_LINEAR):
        return _read_linear(estimator, method)
    return None


_LINEAR = ("sklearn.linear_model.", "sklearn.svm._classes", "sklearn.discriminant_")


def _read_network(estimator, method):
    classifier = hasattr(estimator, "classes_")
    links = {"identity": "flat", "exp": "exp", "logistic": "pair", "softmax": "softmax"}
    link = links.get(estimator.out_activation_)
    if link is None or method != ("predict_proba" if classifier else "predict"):
        return None
    if classifier and getattr(estimator, "n_outputs_", 1) > 1:
        if estimator.out_activation_ != "softmax":
            return None
    if not classifier and estimator.n_outputs_ != 1:
        return None
    return Layers(
        tuple(np.asarray(w, dtype=np.float64) for w in estimator.coefs_),
        tuple(np.asarray(b, dtype=np.float64) for b in estimator.intercepts_),
        estimator.activation,
        link,
        method,
    )


def _read_linear(estimator, method):
    coef = getattr(estimator, "coef_", None)
    if coef is None or sparse.issparse(coef):
        return None
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    bias = np.atleast_1d(np.asarray(estimator.intercept_, dtype=np.float64))
    if len(bias) == 1:
        bias = np.repeat(bias, len(coef))
    if method == "predict":
        if hasattr(estimator, "classes_") or len(coef) > 1:
            return None
        link = "exp" if _has_log_link(estimator) else "flat"
    elif method == "decision_function":
        link = "flat" if len(coef) == 1 else "wide"
    elif getattr(estimator, "loss", None) == "modified_huber":
        link = "clipped pair" if len(coef) == 1 else "clipped shares"
    elif len(coef) == 1:
        link = "pair"
    else:
        one_vs_rest = type(estimator).__name__ == "SGDClassifier"
        link = "shares" if one_vs_rest else "softmax"
    return Layers((coef.T,), (bias,), "identity", link, method)


def _has_log_link(estimator):
    """Whether a regressor predicts the exponential of the linear sum."""
    kind = type(estimator).__name__
    if kind == "TweedieRegressor" and estimator.link == "auto":
        return estimator.power > 0
    return kind in _LOG_LINK or getattr(estimator, "link", None) == "log"


_LOG_LINK = ("PoissonRegressor", "GammaRegressor")


def _linked(out, link):
    match link:
        case "flat":
            return out[:, 0]
        case "exp":
            return np.exp(out[:, 0])
        case "pair":
            return pair(expit(out[:, 0]))
        case "clipped pair":
            return pair(_clipped(out[:, 0]))
        case "softmax":
            return softmax(out, axis=1)
        case "shares":
            return shares(expit(out))
        case "clipped shares":
            return shares(_clipped(out))
    return out


def _clipped(out):
    return (np.clip(out, -1.0, 1.0) + 1.0) / 2.0
