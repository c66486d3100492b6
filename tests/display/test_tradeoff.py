"""Tests of TradeoffDisplay: what is drawn, where, and that it stays readable."""

import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcf.display import TradeoffDisplay
from skcf.metrics import compare
from skcf.tabular import NearestUnlikeExplainer
from tests.lending import REFUSED, fitted

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


TABLE = {
    "method": ["near", "fast", "other", "half", "none"],
    "validity": [1.0, 0.875, 1.0, 0.5, 0.0],
    "gower": [0.05, 0.2, 0.06, 0.12, np.nan],
    "sparsity": [1.5, 4.0, 2.0, 3.0, np.nan],
    "seconds": [8.0, 0.1, 7.5, 1.0, 0.5],
    "n_rows": [5000, 100, 4000, 300, 0],
}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def words(display):
    return [text.get_text() for text in display.texts_]


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame])
def test_columns(kind):
    display = TradeoffDisplay.from_comparison(kind(TABLE))
    assert display.methods == TABLE["method"]
    np.testing.assert_array_equal(display.validity, TABLE["validity"])
    np.testing.assert_array_equal(display.cost, TABLE["gower"])
    np.testing.assert_array_equal(display.time, TABLE["seconds"])
    display = TradeoffDisplay.from_comparison(
        kind(TABLE), cost="sparsity", time="n_rows"
    )
    np.testing.assert_array_equal(display.cost, TABLE["sparsity"])
    np.testing.assert_array_equal(display.time, TABLE["n_rows"])
    assert display.cost_label == "Changed features (mean)"
    with pytest.raises(ValueError, match="no column 'mace'"):
        TradeoffDisplay.from_comparison(kind(TABLE), cost="mace")


def test_disks_lie_at_time_and_cost():
    display = TradeoffDisplay.from_comparison(TABLE)
    assert display.plot() is display
    assert display.figure_ is display.ax_.figure
    for k in range(4):
        (x,), (y,) = display.points_[k].get_data()
        assert (x, y) == (TABLE["seconds"][k], TABLE["gower"][k])
    # Without answers there is no cost: above all others, and empty.
    assert display.points_[4].get_ydata()[0] > 0.2
    assert [wedge is None for wedge in display.wedges_] == [False] * 4 + [True]
    assert display.ax_.get_xscale() == "log" and display.ax_.get_ylim()[0] < 0
    assert display.ax_.get_xlabel() == "Time (seconds)"
    assert words(display) == [
        "near, 100 % valid",
        "fast, 87.5 % valid",
        "other, 100 % valid",
        "half, 50 % valid",
        "none, 0 % valid",
    ]


def test_the_filled_share_is_the_validity():
    display = TradeoffDisplay.from_comparison(TABLE).plot()
    for share, wedge in ((0.875, display.wedges_[1]), (0.5, display.wedges_[3])):
        path, size = wedge.get_marker(), display.points_[0].get_markersize()
        assert area(path) == pytest.approx(share * np.pi, rel=1e-3)
        # A marker is scaled so that its farthest vertex is half its size away.
        radius = wedge.get_markersize() / np.abs(path.vertices).max()
        assert radius == pytest.approx(size)
    # Clockwise from the top: half of it is the right side.
    assert display.wedges_[3].get_marker().vertices[:, 0].min() > -1e-9


def area(path):
    (polygon,) = path.to_polygons()
    x, y = polygon.T
    return abs(np.dot(x[:-1], y[1:]) - np.dot(x[1:], y[:-1])) / 2


CROWD = {
    "method": [f"method {k}" for k in range(7)],
    "validity": [1.0] * 7,
    "gower": [0.005, 0.005, 0.005, 0.005, 0.005, 0.1, 0.05],
    "seconds": [0.65, 0.78, 1.28, 1.63, 2.5, 4.2, 14.0],
}


@pytest.mark.parametrize("table", [TABLE, CROWD])
def test_labels_cover_nothing_and_stay_inside(table):
    display = TradeoffDisplay.from_comparison(table).plot()
    frame = display.ax_.get_window_extent()
    Text = matplotlib.text.Text
    for text in display.texts_:
        text.get_window_extent()
    boxes = [Text.get_window_extent(text) for text in display.texts_]
    disks = [point.get_window_extent() for point in display.points_]
    for one, other in itertools.combinations(boxes, 2):
        assert not one.overlaps(other)
    for box, disk in itertools.product(boxes, disks):
        assert not box.overlaps(disk.padded(-3))
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)
    assert all(frame.y0 <= box.y0 and box.y1 <= frame.y1 for box in boxes)
    names = set(words(display))
    drawn = [t.get_text() for t in display.ax_.texts if t.get_text() in names]
    assert sorted(drawn) == sorted(names)


def test_own_axes_and_odd_names():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    table = {name: values[:1] for name, values in TABLE.items()}
    table["method"] = ["cost_$x$ & more"]
    display = TradeoffDisplay.from_comparison(table).plot(ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    assert words(display) == ["cost_$x$ & more, 100 % valid"]
    assert len(ax.get_xticks()) > 1


def test_nothing_found_by_anyone():
    table = {name: values[4:] for name, values in TABLE.items()}
    display = TradeoffDisplay.from_comparison(table).plot()
    assert display.wedges_ == [None]
    assert np.isfinite(display.points_[0].get_ydata()).all()


def test_of_a_comparison():
    explainers = [fitted(NearestUnlikeExplainer, cost=c) for c in ("gower", "sparse")]
    comparison = compare(explainers, REFUSED[:5])
    display = TradeoffDisplay.from_comparison(comparison).plot()
    assert words(display) == [
        "NearestUnlikeExplainer 1, 100 % valid",
        "NearestUnlikeExplainer 2, 100 % valid",
    ]


def test_matplotlib_is_not_needed_before_plot():
    code = """
import sys
sys.modules["matplotlib"] = None
from skcf.display import TradeoffDisplay
table = {"method": ["a"], "validity": [1.0], "gower": [0.1], "seconds": [1.0]}
display = TradeoffDisplay.from_comparison(table)
try:
    display.plot()
except ImportError as error:
    print(error)
"""
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "skcf[plot]" in out
