"""Tests of SeriesDisplay: what is drawn, and what is shaded."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcf.display import SeriesDisplay
from skcf.timeseries import ChannelSwapExplainer, PrototypeExplainer

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def flat(X):
    return X.reshape(len(X), -1)


def several(n=40):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 6, 3))
    y = (X[:, :, 1].mean(axis=1) > 0).astype(int)
    forest = RandomForestClassifier(9, max_depth=3, random_state=0)
    return X, make_pipeline(FunctionTransformer(flat), forest).fit(X, y)


def data(line):
    return line.get_ydata().tolist()


def test_lines_are_the_series():
    X, model = several()
    explainer = PrototypeExplainer(
        FrozenEstimator(model), lambda_0=0.1, max_prototypes=2
    ).fit(X)
    explanation = explainer.explain(X[:5])
    display = SeriesDisplay.from_explainer(explainer, X[:5], row=3).plot()
    at = np.flatnonzero(explanation.row == 3)[0]
    channels = explanation.details.changed_channels[at].tolist()
    assert display.channels == channels
    assert len(display.axes_) == len(channels)
    for lines, channel in zip(display.lines_, channels, strict=True):
        assert data(lines.query) == X[3, :, channel].tolist()
        expected = explanation.counterfactuals[at][:, channel].tolist()
        assert data(lines.counterfactual) == expected
        sources = explanation.details.prototypes[at]
        assert [data(s) for s in lines.sources] == X[sources, :, channel].tolist()
    assert display.figure_ is display.ax_.figure


def test_both_orders_of_the_axes_give_one_picture():
    X, model = several()
    turned = make_pipeline(
        FunctionTransformer(lambda X: X.transpose(0, 2, 1)),
        *[s for _, s in model.steps],
    )
    one = ChannelSwapExplainer(FrozenEstimator(model), random_state=0).fit(X)
    other = ChannelSwapExplainer(
        FrozenEstimator(turned), channel_axis=1, strategy="greedy"
    )
    other.fit(X.transpose(0, 2, 1))
    one.set_params(strategy="greedy")
    a = SeriesDisplay.from_explainer(one, X[:2], row=1)
    b = SeriesDisplay.from_explainer(other, X[:2].transpose(0, 2, 1), row=1)
    np.testing.assert_array_equal(a.counterfactual, b.counterfactual)
    np.testing.assert_array_equal(a.sources[0][1], b.sources[0][1])


def test_stretches_hold_most_of_the_change():
    query, found = np.zeros((10, 2)), np.zeros((10, 2))
    found[2:4, 0], found[8, 0], found[5, 1] = 3.0, 0.5, 2.0
    display = SeriesDisplay(query=query, counterfactual=found, sources=[])
    assert display.stretches(0) == [(2, 3)]
    assert display.stretches(1) == [(5, 5)]
    display.share = 0.5
    assert display.stretches(1) == []
    display.share = 1.0
    assert display.stretches(0) == [(2, 3), (8, 8)]


def test_frames_have_labels():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(30, 5)), index=[f"d{i}" for i in range(30)])
    model = LogisticRegression().fit(X, X[0] > 0)
    explainer = PrototypeExplainer(FrozenEstimator(model), max_prototypes=2).fit(X)
    explanation = explainer.explain(X.head(4))
    display = SeriesDisplay.from_explanation(explanation, row=2, training=X).plot()
    assert display.title.startswith("d2: ")
    labels = explanation.details.prototype_index[2].tolist()
    shown = [t.get_text().split(":")[0] for t in display.ax_.get_legend().get_texts()]
    assert shown[: len(labels)] == labels
    assert shown[len(labels) :] == ["query", "counterfactual"]


def test_a_warping_path_joins_times():
    query, found = np.zeros((4, 1)), np.ones((4, 1))
    path = np.array([[0, 0], [1, 0], [2, 1], [3, 2], [3, 3]])
    display = SeriesDisplay(query=query, counterfactual=found, sources=[], path=path)
    display.plot()
    pairs = [line.get_xdata().tolist() for line in display.ax_.lines[: len(path)]]
    assert pairs == path.tolist()
    straight = np.column_stack([np.arange(4)] * 2)
    display.path = straight
    assert len(display.plot().ax_.lines) == 2


def test_axes_are_given_for_all_channels():
    import matplotlib.pyplot as plt

    X, model = several()
    explainer = ChannelSwapExplainer(FrozenEstimator(model), random_state=0).fit(X)
    display = SeriesDisplay.from_explainer(explainer, X[:1], channels=[0, 1])
    _, axes = plt.subplots(2)
    assert display.plot(ax=axes).axes_ == list(axes)
    with pytest.raises(ValueError, match="2 channels"):
        display.plot(ax=axes[0])


def test_a_query_without_a_counterfactual_is_named():
    X, model = several()
    explainer = PrototypeExplainer(FrozenEstimator(model), target=1).fit(X)
    explanation = explainer.explain(X)
    row = int(np.flatnonzero(explanation.status == "already")[0])
    with pytest.raises(ValueError, match=f"query {row}: it is .*already"):
        SeriesDisplay.from_explanation(explanation, row=row)
    with pytest.raises(ValueError, match="query 99: it is unknown"):
        SeriesDisplay.from_explanation(explanation, row=99)
