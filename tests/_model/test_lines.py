"""Encoded cells of numbers without the transformer."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)

from skcf._model._lines import Lines
from skcf._space import FeatureSpace

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.integers(0, 60, 200), RNG.normal(3, 2, 200).round(2)])
SPACE = FeatureSpace(X.astype(float))
GROUP_OF = np.array([0, 1])


class Transform:
    """A fitted transformer as an encoding calls it."""

    def __init__(self, step, exact):
        self.step, self.exact = step.fit(X), exact

    def __call__(self, table):
        return self.step.transform(table)


def lines_of(step, exact=False):
    return Lines(Transform(step, exact), SPACE, GROUP_OF)


@pytest.mark.parametrize("step", [MinMaxScaler((-1, 3)), StandardScaler()])
def test_scaled_numbers_are_on_a_line(step):
    lines = lines_of(step)
    assert lines.known.all()
    codes = RNG.uniform(0, 50, 100)
    group = RNG.integers(0, 2, 100)
    at, column, cell = lines.cells(group, codes)
    assert at.tolist() == list(range(100)) and (column == group).all()
    truth = step.transform(np.column_stack([codes, codes]))[np.arange(100), group]
    np.testing.assert_allclose(cell, truth, rtol=1e-13, atol=1e-13)


def test_where_the_last_digit_counts_only_what_is_passed_on_is_a_line():
    assert not lines_of(MinMaxScaler(), exact=True).known.any()
    step = make_column_transformer(("passthrough", [0]), (StandardScaler(), [1]))
    lines = lines_of(step, exact=True)
    assert lines.known.tolist() == [True, False]
    codes = np.array([0.1, 1 / 3, 7.0])
    assert (lines.cells(np.zeros(3, dtype=int), codes)[2] == codes).all()


@pytest.mark.parametrize(
    "step",
    [
        KBinsDiscretizer(5, encode="ordinal", quantile_method="averaged_inverted_cdf"),
        QuantileTransformer(n_quantiles=50),
        MinMaxScaler((0, 1e-3)).set_params(clip=True),
    ],
)
def test_what_bends_is_not_a_line(step):
    if isinstance(step, MinMaxScaler):
        step = step.fit(X[X[:, 0] < 30])
        step.fit = lambda X: step
    assert not lines_of(step).known[0]


def test_categories_are_no_line():
    space = FeatureSpace(X, categorical_features=[0])
    step = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), [0]),
        (MinMaxScaler(), [1]),
    )
    n = len(np.unique(X[:, 0]))
    lines = Lines(Transform(step, False), space, np.append(np.zeros(n, int), 1))
    assert lines.known.tolist() == [False, True]
    at, column, cell = lines.cells(np.array([1]), np.array([3.0]))
    assert column.tolist() == [n] and len(cell) == 1


class Rounded(Transform):
    """Scales numbers and hands them over in 32 bits, to trees that split there."""

    def __init__(self, splits):
        super().__init__(MinMaxScaler(), exact=False)
        self.splits = splits

    def __call__(self, table):
        return self.step.transform(table).astype(np.float32)


def test_a_rounded_line_tells_on_which_side_of_a_split_numbers_are():
    codes = np.sort(RNG.uniform(X[:, 1].min(), X[:, 1].max(), 4000))
    cell = Rounded(None)(np.column_stack([codes, codes]))[:, 1].astype(float)
    splits = np.unique(np.concatenate([cell[::40], cell[5::80] + 1e-4]))
    lines = Lines(Rounded([np.array([0.5]), splits]), SPACE, GROUP_OF)
    assert lines.roughly.all() and not lines.known.any()
    told = lines.tell(np.ones(len(codes), int), codes)
    assert not told[::40].any() and told.mean() > 0.9
    guess = lines.cells(np.ones(len(codes), int), codes)[2]
    assert (guess != cell).any()
    left, truth = np.searchsorted(splits, guess), np.searchsorted(splits, cell)
    np.testing.assert_array_equal(left[told], truth[told])


@pytest.mark.parametrize("splits", [None, [None, np.array([0.5])]])
def test_a_rounded_line_is_none_where_its_digits_matter(splits):
    lines = Lines(Rounded(splits), SPACE, GROUP_OF)
    assert lines.roughly.tolist() == [False, splits is not None]
    assert not lines.known.any()
