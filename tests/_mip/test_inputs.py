import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

from skcf._mip._linear import LinearSolver
from tests._mip.boxes import fitted, parts_of
from tests._mip.test_linear import labels, table


@pytest.mark.parametrize("resolution", ["observed", None])
def test_sums_at_codes_are_those_of_encoded_rows(resolution):
    rng = np.random.default_rng(0)
    X = table(rng)
    bins = KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf")
    encoder = make_column_transformer(
        (StandardScaler(), [0, 2]), (bins, [1]), (OneHotEncoder(), [3, 4])
    )
    model = make_pipeline(encoder, LogisticRegression()).fit(X, labels(rng, X, 2))
    grid = resolution if resolution else {0: None, 2: None}
    explainer = fitted(
        model,
        X,
        rules=("cf[0] >= 1 or cf[3] == 1",),
        categorical=[3, 4],
        resolution=grid,
    )
    inputs = LinearSolver(*parts_of(explainer)).inputs
    x = X[0].copy()
    x[0] = 7.5
    encoded = inputs.encode(x[None])[0]
    constant, own = inputs.own(encoded)
    pieces = inputs.pieces(x)
    tables = [inputs.table(g, p, own[g]) for g, p in enumerate(pieces)]
    for codes in [x, *X[1:20]]:
        said = inputs.at(codes, pieces, tables, constant)
        truth = inputs.encode(codes[None])[0] @ inputs.weight + inputs.bias
        np.testing.assert_allclose(said, truth, atol=1e-9)
