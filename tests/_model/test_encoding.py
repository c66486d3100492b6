"""Tables of what values become."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from skcf._model import _encoding, _lines
from skcf._model._encoding import EncodedQueries, Encoding
from skcf._space import Candidates, FeatureSpace

RANDOM = np.random.RandomState(0)
X = pd.DataFrame(
    {
        "city": [f"c{k}" for k in np.r_[np.arange(400), RANDOM.randint(0, 400, 100)]],
        "age": RANDOM.randint(18, 80, 500),
        "income": RANDOM.gamma(2, 20, 500).round(1),
        "nothing": 7.0,
    }
)
SPACE = FeatureSpace(X)


def fitted(**params):
    return make_column_transformer(
        (StandardScaler(), ["age", "nothing"]),
        (OneHotEncoder(handle_unknown="ignore", **params), ["city"]),
        remainder="passthrough",
    ).fit(X)


@pytest.mark.parametrize("sparse", [True, False])
def test_a_wide_encoding_is_tried_in_parts(sparse, monkeypatch):
    transform = fitted(sparse_output=sparse).transform
    whole = Encoding.learn(transform, SPACE)
    sizes = []

    def counted(table):
        sizes.append(len(table))
        return transform(table)

    monkeypatch.setattr(_encoding, "MOST_CELLS", 404 * 60)
    parts = Encoding.learn(counted, SPACE)
    assert max(sizes) == max(60, _lines.N_POINTS)
    for name in ("group_of", "default", "ptr", "col", "val"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
    # A value of the wide column writes one cell, not a row of zeros.
    assert len(whole.val) < 2 * SPACE.values.n_observed


def test_columns_that_mix_late_are_found():
    class Late:
        """Adds the two columns up, but for large numbers of the first one only."""

        def __call__(self, table):
            rows = table[["age", "income"]].to_numpy()
            rows[:, 0] += np.where(rows[:, 0] > 70, rows[:, 1], 0.0)
            return rows

    assert Encoding.learn(Late(), SPACE) is None


def test_polynomials_are_no_table():
    numbers = X[["age", "income"]]
    transform = PolynomialFeatures(2).fit(numbers).transform
    assert Encoding.learn(transform, FeatureSpace(numbers)) is None


def test_what_a_transformer_raises_is_passed_on():
    def strict(table):
        if (table["age"] > 75).any():
            raise ValueError("too old")
        return table[["age"]].to_numpy()

    with pytest.raises(ValueError, match="too old"):
        Encoding.learn(strict, SPACE)


def test_queries_in_encoded_form():
    transform = fitted().transform
    encoding = Encoding.learn(transform, SPACE)
    rows = X.sample(30, random_state=0).assign(income=33.3)
    x = SPACE.encode(rows)
    queries = EncodedQueries(encoding, rows, x, SPACE.values.fork())
    np.testing.assert_allclose(queries.rows, transform(rows).toarray(), atol=1e-12)


def test_cells_of_values_that_come_one_after_another():
    transform = fitted().transform
    encoding = Encoding.learn(transform, SPACE)
    rows, values = X.head(20), SPACE.values.fork()
    x = SPACE.encode(rows)
    queries = EncodedQueries(encoding, rows, x, values)
    groups = [list(X).index(name) for name in ("age", "income")]
    for k in range(4):
        number = np.round(RANDOM.uniform(20, 60, (2, 20)), 2) + k
        ids = values.add(np.repeat(groups, 20), number.ravel()).reshape(2, 20)
        cands = Candidates(np.arange(20), ids.T)
        ptr, col, val = queries.cells(cands)
        told = queries.rows.copy()
        told[np.repeat(np.arange(20), np.diff(ptr)), col] = val
        table = SPACE.decode(cands.codes(x, values), rows, cands.row)
        np.testing.assert_allclose(told, transform(table).toarray(), atol=1e-12)
