"""Checks of the clauses that bind explainers of a model."""

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skcf.testing._base_checks import ensure_returns
from skcf.testing._setting import Spy
from skcf.testing._tables import is_frame, same, schema, take
from skcf.testing._verdict import ensure, heard, quiet, refuses

TOLERANCE = 1e-9
UNKNOWN = "no such label"


def check_estimator_is_cloned(setting):
    """Check that a clone of the estimator is fitted, and the clone alone."""
    if setting.is_frozen:
        return
    explainer = setting.fitted()
    inner = explainer.estimator
    ensure(explainer.estimator_ is not inner, 1, "estimator_ is estimator itself.")
    try:
        check_is_fitted(inner)
    except NotFittedError:
        pass
    else:
        ensure(False, 1, "the estimator given was fitted, not a clone of it.")
    with quiet():
        expected = setting.trained().predict(setting.X)
        got = explainer.estimator_.predict(setting.X)
    equal = np.array_equal(expected, got)
    ensure(equal, 1, "estimator_ is not clone(estimator).fit(X, y).")


def check_frozen_estimator(setting):
    """Check that a frozen model is used as it is, and needs no y."""
    frozen = FrozenEstimator(setting.trained())
    explainer = setting.new(estimator=frozen)
    with quiet():
        explainer.fit(setting.X)
        cf = explainer.transform(setting.queries)
    ensure(explainer.estimator_ is frozen, 1, "a FrozenEstimator was replaced.")
    with quiet():
        expected = setting.fitted().transform(setting.queries)
    ensure(
        same(cf, expected), 1, "frozen and fitted within, a model has other answers."
    )


def check_note_without_y(setting):
    """Check that a fit without y hints at FrozenEstimator."""
    if setting.is_frozen:
        return
    refuses(
        1,
        "fit without y",
        lambda: setting.new().fit(setting.X),
        "FrozenEstimator",
        kind=Exception,
    )


def check_fit_parameters_reach_the_model(setting):
    """Check that what is passed to fit, as sample_weight, reaches the model."""
    model, name = setting.explainer.estimator, "sample_weight"
    if isinstance(model, Pipeline):
        name = f"{model.steps[-1][0]}__{name}"
        model = model[-1]
    if not has_fit_parameter(model, "sample_weight"):
        return
    y = np.asarray(setting.y) if setting.is_classifier else np.zeros(len(setting.X))
    few = [np.flatnonzero(y == label)[::4] for label in np.unique(y)]
    weight = np.isin(np.arange(len(setting.X)), np.concatenate(few))
    params = {name: weight.astype(float)}
    with quiet():
        explainer = setting.new().fit(setting.X, setting.y, **params)
        alone = clone(explainer.estimator).fit(setting.X, setting.y, **params)
        got, expected = (m.predict(setting.X) for m in (explainer.estimator_, alone))
    equal = np.array_equal(got, expected)
    ensure(equal, 1, f"{name} did not reach the estimator: it predicts otherwise.")


def check_classes(setting):
    """Check that classes_ are those of the model."""
    explainer = setting.fitted()
    got, expected = list(explainer.classes_), list(explainer.estimator_.classes_)
    ensure(got == expected, 1, f"classes_ is {got}, that of the model {expected}.")


def check_multi_output_is_refused(setting):
    """Check that a model with several outputs is refused in fit."""
    if setting.is_frozen:
        return
    n = len(setting.X)

    class Several(type(clone(setting.explainer.estimator))):
        """The model, with each prediction given twice."""

        def predict(self, X):
            """Return two columns."""
            return np.column_stack([super().predict(X)] * 2)

    model = Several(**setting.explainer.estimator.get_params(deep=False))
    refuses(
        1,
        f"a model with shape ({n}, 2) of predict",
        lambda: setting.new(estimator=model).fit(setting.X, setting.y),
        "multi-output",
    )


def check_model_sees_the_table_of_fit(setting):
    """Check that the model is called on the container and dtypes of fit alone."""
    explainer = setting.fitted(estimator=setting.inside(Spy(schema)))
    with quiet():
        explainer.transform(setting.queries)
        explainer.explain(setting.queries, n_counterfactuals=2)
        explainer.score(setting.queries)
    expected = schema(setting.X)
    for seen in explainer.estimator_[0].seen_:
        ensure(seen == expected, 2, f"the model was given {seen}; fit got {expected}.")


def check_opposite(setting):
    """Check that the opposite is another class, which no row is in already."""
    explainer = setting.fitted(target="opposite")
    with quiet():
        explanation = explainer.explain(setting.queries)
        before = explainer.estimator_.predict(setting.queries)
    told = np.array_equal(explanation.prediction_before, before)
    ensure(told, 4, "prediction_before is not what the model predicts.")
    already = "already" in explanation.status
    ensure(not already, 4, "no row can be in the opposite target already.")
    changed = explanation.prediction != before[explanation.row]
    ensure(changed.all(), 4, "an answer has the class of its query.")


def check_labels(setting):
    """Check that a label is a target, for all rows or one for each."""
    explainer = setting.fitted(target="opposite")
    before, classes = explainer.estimator_.predict(setting.queries), explainer.classes_
    turned = classes[(np.searchsorted(classes, before) + 1) % len(classes)]
    for target in (*classes, turned, turned.tolist(), before):
        with quiet():
            explanation = explainer.explain(setting.queries, target=target)
        wanted = np.broadcast_to(np.asarray(target), before.shape)
        told = explanation.target.tolist()
        ensure(told == wanted.tolist(), 4, f"the target {target} is told as {told}.")
        reached = explanation.prediction == wanted[explanation.row]
        ensure(reached.all(), 4, f"an answer is not in the target {target}.")
        already = explanation.status == "already"
        ensure(
            (already == (before == wanted)).all(),
            7,
            f"statuses {explanation.status} for predictions {before}, target {target}.",
        )
    with quiet():
        given = explainer.transform(setting.queries, target=classes[0])
        own = setting.fitted(target=classes[0]).transform(setting.queries)
        back = explainer.transform(setting.queries, target=before)
    ensure(same(given, own), 4, "a target of the call and of the explainer differ.")
    ensure(same(back, setting.queries), 3, "a row that is 'already' was changed.")


def check_unknown_targets(setting):
    """Check that a target that the model does not know is refused by name."""
    explainer, X = setting.fitted(), setting.queries
    known = str(explainer.classes_[0])
    refuses(
        13, "an unknown target", lambda: setting.fitted(target=UNKNOWN), UNKNOWN, known
    )
    refuses(
        13,
        "an unknown target of a call",
        lambda: explainer.transform(X, target=UNKNOWN),
        UNKNOWN,
        known,
    )
    short = [explainer.classes_[0]] * (len(X) + 1)
    refuses(
        13,
        "one target too many",
        lambda: explainer.transform(X, target=short),
        str(len(X) + 1),
        str(len(X)),
    )


def check_threshold(setting):
    """Check that answers have the probability that threshold asks for."""
    model = setting.explainer.estimator
    if not hasattr(setting.trained(), "predict_proba"):
        refuses(4, "threshold", lambda: setting.fitted(threshold=0.5), "predict_proba")
        return
    for bad in (0.0, 1.5):
        refuses(
            13,
            f"threshold={bad}",
            lambda b=bad: setting.fitted(threshold=b),
            "threshold",
        )
    label = setting.trained().classes_[-1]
    explainer = setting.fitted(threshold=0.7, target=label)
    with quiet():
        explanation = explainer.explain(setting.queries)
        sure = _probability(explainer, setting.queries, label) >= 0.7
        before = explainer.estimator_.predict(setting.queries) == label
        after = explanation.counterfactuals
        nu = _probability(explainer, after, label) if len(after) else np.ones(0)
    ensure((nu >= 0.7).all(), 4, f"probabilities {nu} below the threshold 0.7.")
    already = explanation.status == "already"
    ensure(
        (already == (sure & before)).all(),
        7,
        f"{type(model).__name__}: 'already' takes the threshold into account.",
    )


def _probability(explainer, X, label):
    at = list(explainer.classes_).index(label)
    return explainer.estimator_.predict_proba(X)[:, at]


def check_regression(setting):
    """Check that a regressor has intervals as targets, and no opposite."""
    setting = setting.regression()
    refuses(
        4,
        "'opposite' with a regressor",
        lambda: setting.fitted(target="opposite"),
        "low, high",
    )
    refuses(4, "an empty interval", lambda: setting.fitted(target=(2.0, 1.0)), "empty")
    explainer = setting.fitted()
    before = explainer.estimator_.predict(setting.queries)
    low = float(np.median(before))
    own = np.column_stack([before - 0.5, np.full(len(before), np.inf)])
    for target in ((low, None), (None, low), own):
        with quiet():
            explanation = explainer.explain(setting.queries, target=target)
        pairs = np.broadcast_to(np.array(target, dtype=float), (len(before), 2))
        lows = np.nan_to_num(pairs[:, 0], nan=-np.inf)
        highs = np.nan_to_num(pairs[:, 1], nan=np.inf)
        inside = (before >= lows) & (before <= highs)
        already = explanation.status == "already"
        ensure((already == inside).all(), 7, f"statuses are wrong for target {target}.")
        row, after = explanation.row, explanation.prediction
        reached = (after >= lows[row]) & (after <= highs[row])
        ensure(reached.all(), 4, f"an answer is outside of {target}.")


def check_answers_are_valid(setting):
    """Check that the model predicts the target for what is returned."""
    explainer = setting.fitted()
    with quiet():
        X_cf = explainer.transform(setting.queries)
        explanation = explainer.explain(setting.queries)
    model, before = explainer.estimator_, explanation.prediction_before
    found = np.flatnonzero(explanation.status == "found")
    batch = model.predict(X_cf)
    for i in found:
        alone = model.predict(take(X_cf, [i]))[0]
        told = explanation.prediction[explanation.row == i][0]
        for prediction in (alone, batch[i], told):
            ensure(
                _reaches(explainer.target, prediction, before[i]),
                5,
                f"row {i} was {before[i]} and is predicted {alone} alone, {batch[i]} "
                f"in a batch and told as {told}; the target is {explainer.target!r}.",
            )
    if setting.is_classifier and hasattr(model, "predict_proba") and len(found):
        _ensure_clear(model, take(X_cf, found))


def _reaches(target, prediction, before):
    if isinstance(target, tuple):
        low, high = target
        return (low is None or prediction >= low) and (
            high is None or prediction <= high
        )
    opposite = isinstance(target, str) and target == "opposite"
    return prediction != before if opposite else prediction == target


def _ensure_clear(model, X_cf):
    """Check that the lead of the class predicted is not a matter of rounding."""
    probability = model.predict_proba(X_cf)
    at = np.searchsorted(model.classes_, model.predict(X_cf))
    if (probability.argmax(axis=1) != at).any():
        return  # predict has a rule of its own, so there is no lead to speak of
    lead = -np.diff(-np.sort(-probability, axis=1)[:, :2], axis=1)
    ensure((lead > TOLERANCE).all(), 5, f"the lead of a class is {lead.min()}.")


def check_slow_model(setting):
    """Check that a call with a time limit returns from a slow model."""
    slow = setting.inside(Spy(seconds=0.0005))
    explainer = setting.fitted(estimator=slow, time_limit=0.4)
    ensure_returns(explainer, setting.queries, 0.4)


def check_model_of_arrays(setting):
    """Check that a frozen model that was trained without names gets arrays."""
    if setting.is_frozen or not is_frame(setting.X):
        return
    plain = setting.inside(Spy(lambda X: type(X).__name__))
    numbers = setting.X.to_numpy()
    with quiet():
        frozen = FrozenEstimator(plain.fit(numbers, setting.y))
    explainer = setting.new(estimator=frozen)
    with heard() as caught:
        explainer.fit(setting.X)
        explainer.transform(setting.queries)
    told = [str(w.message) for w in caught if "feature names" in str(w.message)]
    ensure(not told, 2, f"a model without names was given a frame: {told[:1]}")
    seen = set(frozen.estimator[0].seen_)
    ensure(seen == {"ndarray"}, 2, f"a model trained on arrays was given {seen}.")
