"""Fitted tree ensembles of scikit-learn, XGBoost and LightGBM, read as flat arrays."""

from dataclasses import replace

import numpy as np

from skcf._model._read_boosters import read_lightgbm, read_xgboost
from skcf._model._trees import Tree, join_trees, method_of, unpack_bits

_LINKS = {
    "IdentityLink": ("identity", 1.0),
    "LogLink": ("exp", 1.0),
    "LogitLink": ("sigmoid", 1.0),
    "HalfLogitLink": ("sigmoid", 2.0),
    "MultinomialLogit": ("softmax", 1.0),
}


def read_trees(estimator, method=None):
    """Return the FlatTrees of a fitted estimator, None where it cannot be read.

    Only the classes themselves are read: a subclass may predict in another way. The
    trees give what `method` returns; by default probabilities or predictions.
    """
    kind = type(estimator)
    reader = _READERS.get((kind.__module__.partition(".")[0], kind.__name__))
    trees = None if reader is None else reader(estimator)
    if trees is None or method in (None, trees.method):
        return trees
    if method != "decision_function" or not hasattr(estimator, method):
        return None
    scale = _link_scale(estimator)
    return replace(
        trees,
        value=trees.value / scale,
        base=trees.base / scale,
        link="identity",
        method=method,
    )


def _link_scale(estimator):
    """Return by how much the sums of a classifier exceed its decision function."""
    if hasattr(estimator, "estimator_weights_"):
        return 1.0 / max(1, len(estimator.classes_) - 1)
    return _LINKS[type(estimator._loss.link).__name__][1]


# -- scikit-learn ---------------------------------------------------------------------


def _sklearn_tree(fitted, value):
    """Return a tree of scikit-learn, which compares float32 with float64."""
    low = fitted.threshold.astype(np.float32)
    above = low > fitted.threshold
    low[above] = np.nextafter(low[above], np.float32(-np.inf))
    return Tree(
        fitted.feature,
        low,
        fitted.children_left,
        fitted.children_right,
        fitted.missing_go_to_left,
        value,
    )


def _read_forest(estimator):
    """Read a forest or a single tree: the mean of its trees."""
    if estimator.n_outputs_ != 1:
        return None
    fitted = [t.tree_ for t in getattr(estimator, "estimators_", [estimator])]
    trees = [_sklearn_tree(t, t.value[:, 0, :] / len(fitted)) for t in fitted]
    return join_trees(
        trees,
        base=np.zeros(trees[0].value.shape[1]),
        link="identity",
        method=method_of(estimator),
        n_features=estimator.n_features_in_,
        precision="float32",
    )


def _read_gradient_boosting(estimator):
    if not (estimator.init is None or isinstance(estimator.init, str)):
        return None
    link, scale = _LINKS[type(estimator._loss.link).__name__]
    base = estimator._raw_predict_init(np.zeros((1, estimator.n_features_in_)))
    stages = estimator.estimators_
    scale_trees = scale * estimator.learning_rate
    return join_trees(
        [
            _sklearn_tree(t.tree_, t.tree_.value[:, 0] * scale_trees)
            for t in stages.flat
        ],
        slot=np.tile(np.arange(stages.shape[1]), len(stages)),
        base=scale * base[0],
        link=link,
        method=method_of(estimator),
        n_features=estimator.n_features_in_,
        precision="float32",
    )


def _read_hist_gradient_boosting(estimator):
    link, scale = _LINKS.get(type(estimator._loss.link).__name__, (None, 1.0))
    if link is None:
        return None
    known, of_column = estimator._bin_mapper.make_known_categories_bitsets()
    # The model puts categorical columns in front of the others.
    column = np.arange(estimator.n_features_in_)
    levels = ()
    if estimator.is_categorical_ is not None:
        categorical = estimator.is_categorical_
        column = np.concatenate([column[categorical], column[~categorical]])
        encoder = estimator._preprocessor.named_transformers_["encoder"]
        present = [
            [v for v in c.tolist() if v == v and v is not None]
            for c in encoder.categories_
        ]
        levels = dict(zip(np.flatnonzero(categorical).tolist(), present, strict=True))
    trees = []
    for predictor in (p for stage in estimator._predictors for p in stage):
        nodes = predictor.nodes
        inner = nodes["is_leaf"] == 0
        sets = []
        for k in np.flatnonzero(inner & (nodes["is_categorical"] != 0)):
            left = unpack_bits(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][k]])
            # A code that the column does not have is a missing value.
            missing = bool(nodes["missing_go_to_left"][k])
            seen = unpack_bits(known[of_column[nodes["feature_idx"][k]]])
            sets.append((k, left | ~seen if missing else left, missing))
        trees.append(
            Tree(
                np.where(inner, column[nodes["feature_idx"]], -1),
                nodes["num_threshold"],
                nodes["left"],
                nodes["right"],
                nodes["missing_go_to_left"],
                scale * nodes["value"][:, None],
                sets,
            )
        )
    n_slots = estimator.n_trees_per_iteration_
    return join_trees(
        trees,
        slot=np.tile(np.arange(n_slots), len(estimator._predictors)),
        base=scale * np.ravel(estimator._baseline_prediction),
        link=link,
        method=method_of(estimator),
        n_features=estimator.n_features_in_,
        precision="float64",
        levels=levels,
    )


def _read_adaboost(estimator):
    fitted = estimator.estimators_
    tree_names = {
        f"{k}Tree{s}"
        for k in ("Decision", "Extra")
        for s in ("Classifier", "Regressor")
    }
    if any(type(t).__name__ not in tree_names or not _is_sklearn(t) for t in fitted):
        return None
    weight = np.asarray(estimator.estimator_weights_[: len(fitted)], dtype=np.float64)
    rest = {"n_features": estimator.n_features_in_, "precision": "float32"}
    if method_of(estimator) == "predict":
        # The median needs every tree's prediction: a score a tree.
        return join_trees(
            [_sklearn_tree(t.tree_, t.tree_.value[:, 0]) for t in fitted],
            slot=np.arange(len(fitted)),
            base=np.zeros(len(fitted)),
            link="median",
            method="predict",
            weight=weight,
            **rest,
        )
    classes = estimator.classes_
    if len(classes) < 2:
        return None
    share = weight / estimator.estimator_weights_.sum()
    trees = []
    for t, w in zip(fitted, share, strict=True):
        vote = t.classes_[t.tree_.value[:, 0].argmax(axis=1)][:, None] == classes
        vote = np.where(vote, w, -w / (len(classes) - 1)) / (len(classes) - 1)
        trees.append(
            _sklearn_tree(t.tree_, 2 * vote[:, 1:] if len(classes) == 2 else vote)
        )
    return join_trees(
        trees,
        base=np.zeros(trees[0].value.shape[1]),
        link="sigmoid" if len(classes) == 2 else "softmax",
        method="predict_proba",
        **rest,
    )


def _is_sklearn(estimator):
    return type(estimator).__module__.startswith("sklearn.")


_READERS = {
    **{
        ("sklearn", f"{kind}{task}"): reader
        for task in ("Classifier", "Regressor")
        for kind, reader in {
            "DecisionTree": _read_forest,
            "ExtraTree": _read_forest,
            "RandomForest": _read_forest,
            "ExtraTrees": _read_forest,
            "GradientBoosting": _read_gradient_boosting,
            "HistGradientBoosting": _read_hist_gradient_boosting,
            "AdaBoost": _read_adaboost,
        }.items()
    },
    **{
        (package, f"{kind}{task}"): reader
        for task in ("Classifier", "Regressor")
        for package, kind, reader in (
            ("xgboost", "XGB", read_xgboost),
            ("xgboost", "XGBRF", read_xgboost),
            ("lightgbm", "LGBM", read_lightgbm),
        )
    },
}
