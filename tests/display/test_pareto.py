"""Tests of ParetoDisplay: which points are on the staircase, and what is drawn."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch

from skcf.display import ParetoDisplay
from skcf.tabular import OptimalExplainer

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

SWEEP = {
    "threshold": [0.5, 0.6, 0.7, 0.8, 0.9],
    "cost": [0.1, 0.25, 0.2, 0.4, np.nan],
    "lower_bound": [0.1, 0.25, 0.2, 0.3, np.inf],
    "optimal": [True, True, True, False, False],
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame, Bunch])
def test_columns(kind):
    sweep = kind(**SWEEP) if kind is Bunch else kind(SWEEP)
    display = ParetoDisplay.from_sweep(sweep)
    np.testing.assert_array_equal(display.cost, SWEEP["cost"])
    np.testing.assert_array_equal(display.optimal, SWEEP["optimal"])
    assert display.x_label == "Least probability of the target"
    # 0.7 costs less than 0.6 and asks for more.
    assert display.front.tolist() == [True, False, True, True, False]


def test_what_dominates_depends_on_what_is_harder():
    sweep = {"n_features": [1, 2, 3, 4], "cost": [5.0, 3.0, 3.0, 2.0]}
    display = ParetoDisplay.from_sweep(sweep, x="n_features", better="less")
    assert display.front.tolist() == [True, True, False, True]
    display = ParetoDisplay.from_sweep(sweep, x="n_features", better="more")
    assert display.front.tolist() == [False, False, False, True]
    # Equal points do not dominate each other.
    twice = {"threshold": [0.5, 0.5], "cost": [1.0, 1.0]}
    assert ParetoDisplay.from_sweep(twice).front.all()


def test_curves_do_not_dominate_one_another():
    sweep = {"threshold": [0.5, 0.5], "cost": [1.0, 2.0], "row": ["a", "b"]}
    assert ParetoDisplay.from_sweep(sweep).front.tolist() == [True, False]
    display = ParetoDisplay.from_sweep(sweep, curve="row").plot()
    assert display.front.all()
    assert [line.get_label() for line in display.lines_] == ["a", "b"]
    colors = {line.get_color() for line in display.lines_}
    assert len(colors) == 2
    told = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert told == ["a", "b"]


def test_the_staircase_is_the_least_cost_of_a_demand():
    display = ParetoDisplay.from_sweep(SWEEP).plot()
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_xdata(), [0.5, 0.7, 0.8])
    np.testing.assert_array_equal(line.get_ydata(), [0.1, 0.2, 0.4])
    # To ask for 0.55 takes the answer for 0.7: the step comes before the point.
    assert line.get_drawstyle() == "steps-pre"
    sweep = {"n": [1, 2], "cost": [2.0, 1.0]}
    display = ParetoDisplay.from_sweep(sweep, x="n", better="less").plot()
    assert display.lines_[0].get_drawstyle() == "steps-post"


def test_signs_of_what_is_proved():
    display = ParetoDisplay.from_sweep(SWEEP).plot()
    face = display.points_[0].get_facecolors()
    white = (face[:, :3] == 1.0).all(axis=1)
    assert white.tolist() == [False, False, False, True]
    (bound,) = display.bounds_[0].get_segments()
    np.testing.assert_allclose(bound, [[0.8, 0.3], [0.8, 0.4]])
    np.testing.assert_allclose(display.crosses_[0].get_offsets()[:, 0], [0.9])
    told = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert told == ["proved cheapest", "best found, and bound", "no answer"]


def test_plain_points_need_no_legend():
    display = ParetoDisplay.from_sweep({"threshold": [0.5], "cost": [1.0]}).plot()
    assert display.ax_.get_legend() is None
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax and display.figure_ is ax.figure


def test_nothing_found_at_all():
    sweep = {"threshold": [0.5, 0.9], "cost": [np.nan, np.nan]}
    display = ParetoDisplay.from_sweep(sweep).plot()
    assert not display.front.any() and len(display.crosses_[0].get_offsets()) == 2
    display.figure_.draw_without_rendering()


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="no column 'score'"):
        ParetoDisplay.from_sweep(SWEEP, x="score")
    with pytest.raises(ValueError, match="no column 'row'"):
        ParetoDisplay.from_sweep(SWEEP, curve="row")
    with pytest.raises(ValueError, match="'more' or 'less', got 'up'"):
        ParetoDisplay.from_sweep(SWEEP, better="up")


def test_the_sweep_of_one_row():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (100, 4)).astype(float)
    y = (X.sum(axis=1) > 10).astype(int)
    model = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
    explainer = OptimalExplainer(FrozenEstimator(model), target=1).fit(X)
    row = X[model.predict_proba(X)[:, 1].argmin()][None]
    front = explainer.pareto(row, [0.5, 0.7, 0.8, 1.0])
    display = ParetoDisplay.from_sweep(front).plot()
    found = np.isfinite(front.cost)
    # More certainty never costs less, and everything was proved.
    assert (np.diff(front.cost[found]) >= 0).all() and front.optimal[found].all()
    assert len(display.points_[0].get_offsets()) == found.sum()
