import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skcf.timeseries import PrototypeExplainer

X = np.random.default_rng(0).normal(size=(20, 4))
y = (X[:, 0] > 0).astype(int)


def test_whole_numbers_are_read_as_floats():
    whole = np.round(10 * X).astype(int)
    explainer = PrototypeExplainer(LogisticRegression()).fit(whole, y)
    out = explainer.transform(whole[:3])
    assert out.dtype == np.float64
    as_floats = PrototypeExplainer(LogisticRegression()).fit(whole.astype(float), y)
    np.testing.assert_array_equal(out, as_floats.transform(whole[:3].astype(float)))


def test_a_window_without_warping_is_refused():
    with pytest.raises(ValueError, match="window=3"):
        PrototypeExplainer(LogisticRegression(), window=3).fit(X, y)


def test_unequal_lengths_are_named():
    ragged = [list(row) for row in X]
    ragged[3] = ragged[3][:2]
    with pytest.raises(ValueError) as caught:
        PrototypeExplainer(LogisticRegression()).fit(ragged, y)
    assert "resample" in "".join(caught.value.__notes__)


def test_missing_values_of_a_query_are_named():
    explainer = PrototypeExplainer(LogisticRegression()).fit(X, y)
    query = X[:2].copy()
    query[1] = np.nan
    with pytest.raises(ValueError, match="series 1 has nothing else"):
        explainer.transform(query)


def test_targets_are_taken_by_row():
    explainer = PrototypeExplainer(LogisticRegression()).fit(X, y)
    now = explainer.estimator_.predict(X[:6])
    explanation = explainer.explain(X[:6], target=[0, 1] * 3)
    already = now == np.array([0, 1] * 3)
    assert ((explanation.status == "already") == already).all()
    assert (explanation.score_before[already] >= 0.5).all()
    # The prototypes of a row are those of its own target.
    train = explainer.estimator_.predict(X)
    for i, at in zip(explanation.row, explanation.details.prototypes, strict=True):
        assert (train[at] == i % 2).all()


@pytest.mark.parametrize(
    "train, query",
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float64", "float32"),
        ("float32", "float64"),
        (["float32", "float64"] * 2, ["float32", "float64"] * 2),
        ("int64", "int64"),
        ("float64", "float16"),
    ],
)
@pytest.mark.parametrize("frame", [False, True])
def test_codes_are_rounded_as_they_are_emitted(train, query, frame):
    def cast(rows, dtypes):
        if not frame:
            return (10 * rows).astype(np.dtype(np.atleast_1d(dtypes)[0]))
        names = list("abcd")
        table = pd.DataFrame(10 * rows, columns=names)
        kinds = [dtypes] * 4 if isinstance(dtypes, str) else dtypes
        return table.astype(dict(zip(names, kinds, strict=True)))

    explainer = PrototypeExplainer(LogisticRegression()).fit(cast(X, train), y)
    rows = cast(X[:1], query)
    space = explainer._space
    written = explainer._written(explainer._open(rows, None))
    for codes in np.random.default_rng(1).normal(size=(5, 4)):
        emitted = space.emit(rows, np.zeros(1, dtype=np.intp), codes[None])
        np.testing.assert_array_equal(written(codes), space.encode(emitted)[0])
