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
            return _pair(expit(out[:, 0]))
        case "clipped pair":
            return _pair(_clipped(out[:, 0]))
        case "softmax":
            return softmax(out, axis=1)
        case "shares":
            return shares(expit(out))
        case "clipped shares":
            return shares(_clipped(out))
    return out


def _pair(p):
    return np.column_stack([1.0 - p, p])


def _clipped(out):
    return (np.clip(out, -1.0, 1.0) + 1.0) / 2.0


def shares(parts):
    """Return rows divided by their sums, equal shares where all is zero."""
    total = parts.sum(axis=1, keepdims=True)
    equal = np.full_like(parts, 1.0 / parts.shape[1])
    return np.divide(parts, total, out=equal, where=total != 0)
