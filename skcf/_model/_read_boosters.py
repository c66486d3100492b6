"""Fitted models of XGBoost and LightGBM, read as flat trees."""

import json

import numpy as np

from skcf._model._trees import ZERO, Tree, join_trees, method_of, unpack_bits

# The objectives whose output is known, by the method that returns it.
_XGBOOST = {
    "predict": {
        "reg:squarederror": "identity",
        "reg:squaredlogerror": "identity",
        "reg:pseudohubererror": "identity",
        "reg:absoluteerror": "identity",
        "reg:logistic": "sigmoid",
        "reg:gamma": "exp",
        "reg:tweedie": "exp",
        "count:poisson": "exp",
    },
    "predict_proba": {
        "binary:logistic": "sigmoid",
        "multi:softprob": "softmax",
        "multi:softmax": "softmax",
    },
}
_LIGHTGBM = {
    "predict": {
        "regression": "identity",
        "regression_l1": "identity",
        "huber": "identity",
        "fair": "identity",
        "quantile": "identity",
        "mape": "identity",  # codespell:ignore mape
        "poisson": "exp",
        "gamma": "exp",
        "tweedie": "exp",
        "cross_entropy": "sigmoid",
    },
    "predict_proba": {
        "binary": "sigmoid",
        "cross_entropy": "sigmoid",
        "multiclass": "softmax",
        "multiclassova": "sigmoid",
    },
}


# -- XGBoost --------------------------------------------------------------------------


def read_xgboost(estimator):
    """Read the trees up to the best round; None for what is not a sum of trees."""
    learner = json.loads(estimator.get_booster().save_raw("json"))["learner"]
    param, booster = learner["learner_model_param"], learner["gradient_booster"]
    method = method_of(estimator)
    link = _XGBOOST[method].get(learner["objective"]["name"])
    missing = np.nan if estimator.missing is None else float(estimator.missing)
    unusual = (
        link is None
        or callable(estimator.objective)
        or booster["name"] not in ("gbtree", "dart")
        or int(param.get("num_target", 1)) != 1
        or np.isinf(missing)
    )
    if unusual:
        return None
    model = booster.get("gbtree", booster)["model"]
    texts = model["trees"][: model["iteration_indptr"][_n_rounds(estimator)]]
    if any(int(t["tree_param"]["size_leaf_vector"]) > 1 for t in texts):
        return None
    # What dart dropped last in training stays scaled down. From 3.4 on the weights
    # stand with the trees.
    weights = {**model, **booster}.get("weight_drop") or np.ones(len(texts))
    weights = weights[: len(texts)]
    trees = list(map(_xgboost_tree, texts, weights))
    levels = _xgboost_levels(model)
    has_sets = any(tree.sets for tree in trees)
    if not trees or levels is None or (has_sets and not np.isnan(missing)):
        return None
    base = np.atleast_1d(np.array(json.loads(param["base_score"]), dtype=np.float64))
    if link == "sigmoid":
        base = np.log(base / (1 - base))
    elif link == "exp":
        base = np.log(base)
    return join_trees(
        trees,
        slot=np.array(model["tree_info"][: len(trees)]),
        base=np.resize(base, max(1, int(param["num_class"]))),
        link=link,
        method=method,
        n_features=int(param["num_feature"]),
        precision="float32",
        missing=missing,
        sparse_missing=True,
        levels=levels,
    )


def _n_rounds(estimator):
    """Return the number of rounds that predict uses, -1 for all."""
    try:
        return estimator.best_iteration + 1
    except AttributeError:
        return -1


def _xgboost_tree(tree, weight):
    left = np.array(tree["left_children"])
    number = np.array(tree["split_conditions"], dtype=np.float32)
    sets = []
    begin, size = tree["categories_segments"], tree["categories_sizes"]
    for node, a, n in zip(tree["categories_nodes"], begin, size, strict=True):
        # The codes that are listed go right, all others left.
        listed = tree["categories"][a : a + n]
        bits = np.ones(max(listed) + 1 if listed else 0, dtype=bool)
        bits[listed] = False
        sets.append((node, bits, True))
    return Tree(
        np.where(left < 0, -1, tree["split_indices"]),
        # x < t for float32 numbers, written with <=
        np.nextafter(number, np.float32(-np.inf)),
        left,
        np.array(tree["right_children"]),
        np.array(tree["default_left"]) != 0,
        (number.astype(np.float64) * weight)[:, None],
        sets,
    )


def _xgboost_levels(model):
    """Return the levels of the columns of a frame; None if they cannot be told."""
    levels = {}
    for j, known in enumerate(model.get("cats", {}).get("enc", [])):
        if "offsets" not in known:
            levels[j] = known["values"]
            continue
        text = bytes(v & 255 for v in known["values"])
        if not text.isascii():
            # Their ends are counted in characters there, but cut in bytes.
            return None
        ends = known["offsets"]
        if ends:
            pairs = zip(ends[:-1], ends[1:], strict=True)
            levels[j] = [text[a:b].decode() for a, b in pairs]
    return levels or ()


# -- LightGBM -------------------------------------------------------------------------


def read_lightgbm(estimator):
    """Read the trees up to the best round; None for what is not a sum of trees."""
    booster = estimator.booster_
    # The text that LightGBM saves: a head and a block a tree, a field a line. It ends
    # with the best round, as predict does.
    text = booster.model_to_string().partition("\nend of trees")[0]
    head, *trees = (_fields(block) for block in text.split("\nTree="))
    method = method_of(estimator)
    name, *options = head.get("objective", "").split() or [""]
    link = _LIGHTGBM[method].get(name)
    if link is None or callable(estimator.objective):
        return None
    if any(tree.get("is_linear") == "1" for tree in trees):
        return None
    if "sqrt" in options:
        link = "signed_square"
    options = dict(o.split(":") for o in options if ":" in o)
    n_slots = int(head["num_tree_per_iteration"])
    scale = float(options.get("sigmoid", 1.0)) if link == "sigmoid" else 1.0
    if "average_output" in head:
        scale *= n_slots / len(trees)
    # How missing cells are told: 0 not at all, 1 as zeros, 2 as NaN.
    kinds = {k >> 2 for tree in trees for k in _ints(tree, "decision_type").tolist()}
    trees = [_lightgbm_tree(tree, scale) for tree in trees]
    if 1 in kinds and (2 in kinds or any(tree.sets for tree in trees)):
        return None
    return join_trees(
        trees,
        slot=np.arange(len(trees)) % n_slots,
        base=np.zeros(n_slots),
        link=link,
        method=method,
        n_features=int(head["max_feature_idx"]) + 1,
        precision="float64",
        missing=0.0 if 1 in kinds else np.nan,
        levels=tuple(map(tuple, booster.pandas_categorical or ())),
    )


def _lightgbm_tree(fields, scale):
    """Return a tree of its lines of text; leaf k is node ``n_inner + k``."""
    feature = _ints(fields, "split_feature")
    kind, threshold = _ints(fields, "decision_type"), _floats(fields, "threshold")
    # Numbers up to this size are zeros to LightGBM, its own negative threshold too.
    threshold[threshold == -ZERO] = np.nextafter(-ZERO, -np.inf)
    leaf = _floats(fields, "leaf_value")
    n, n_leaves = len(feature), len(leaf)
    child = [_ints(fields, f"{side}_child") for side in ("left", "right")]
    child = [np.where(c < 0, n + ~c, c) for c in child]
    # Without missing values in training a missing cell counts as zero.
    missing_left = np.where(kind >> 2 == 0, threshold >= 0, kind & 2 != 0)
    ends, words = _ints(fields, "cat_boundaries"), _ints(fields, "cat_threshold")
    sets = []
    for k in np.flatnonzero(kind & 1):
        missing_left[k] = False
        c = int(threshold[k])
        sets.append((k, unpack_bits(words[ends[c] : ends[c + 1]]), False))
    none = np.zeros(n_leaves, dtype=np.int64)
    return Tree(
        np.concatenate([feature, none - 1]),
        np.concatenate([threshold, none]),
        np.concatenate([child[0], none]),
        np.concatenate([child[1], none]),
        np.concatenate([missing_left, none]),
        np.concatenate([np.zeros(n), leaf * scale])[:, None],
        sets,
    )


def _fields(block):
    return dict(line.partition("=")[::2] for line in block.splitlines())


def _ints(fields, name):
    return np.array(fields.get(name, "").split(), dtype=np.int64)


def _floats(fields, name):
    return np.array(fields.get(name, "").split(), dtype=np.float64)
