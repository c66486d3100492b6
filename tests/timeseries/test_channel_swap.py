import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcf.testing import check_explainer
from skcf.timeseries import ChannelSwapExplainer

STRATEGIES = ["policy", "greedy", "climb"]


def flat(X):
    return X.reshape(len(X), -1)


def with_bump(n=120, n_times=36, begin=15, end=23):
    """Return series of two classes, one of which has a bump."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, n)
    X = 0.3 * random.normal(size=(n, n_times)).cumsum(axis=1)
    t = np.arange(begin, end)
    X[:, begin:end] += 2 * y[:, None] * np.sin(np.pi * (t - begin + 0.5) / len(t))
    return X, y


def with_channels(n=80, n_channels=8):
    """Return (n, 4, n_channels) series; the class is told by channel 2."""
    random = np.random.default_rng(1)
    y = random.integers(0, 2, n)
    X = random.normal(size=(n, 4, n_channels))
    X[:, :, 2] += 2.0 * y[:, None]
    model = make_pipeline(
        FunctionTransformer(flat),
        RandomForestClassifier(30, max_depth=3, random_state=0),
    )
    return X, y, model


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_swaps_lie_where_the_class_is_decided(strategy):
    X, y = with_bump()
    model = RandomForestClassifier(50, max_depth=4, random_state=0).fit(X[:80], y[:80])
    explainer = ChannelSwapExplainer(
        FrozenEstimator(model), strategy=strategy, random_state=0
    ).fit(X[:80])
    queries = X[80:][model.predict(X[80:]) == 0]
    explanation = explainer.explain(queries)
    assert (explanation.status == "found").all()
    square = (explanation.counterfactuals - queries) ** 2
    assert square[:, 13:25].sum() >= 0.8 * square.sum()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_channels_come_whole_from_one_training_series(strategy):
    X, y, model = with_channels()
    explainer = ChannelSwapExplainer(model, strategy=strategy, random_state=0)
    explanation = explainer.fit(X, y).explain(X[:12], n_counterfactuals=2)
    now = explainer.estimator_.predict(X)
    for i, r in enumerate(explanation.row):
        source = explanation.details.train_position[i]
        assert now[source] != now[r]
        channels = explanation.details.swapped[i][:, 0]
        expected = X[r].copy()
        expected[:, channels] = X[source][:, channels]
        np.testing.assert_array_equal(explanation.counterfactuals[i], expected)
        assert explanation.n_changed[i] == explanation.cost[i] == len(channels)
    best = explanation.rank == 0
    assert np.mean([2 in s[:, 0] for s in explanation.details.swapped[best]]) > 0.9


def test_policy_asks_for_fewer_rows_than_greedy():
    X, y, model = with_channels(n_channels=40)
    rows = {}
    for strategy in ("policy", "greedy"):
        explainer = ChannelSwapExplainer(model, strategy=strategy, random_state=0)
        explanation = explainer.fit(X, y).explain(X[:10])
        rows[strategy] = explanation.details.n_rows, explanation.n_changed.mean()
    assert rows["policy"][0] < rows["greedy"][0] / 8
    assert rows["policy"][1] <= rows["greedy"][1] + 0.5


def test_windows_of_several_channels():
    X, y, model = with_channels()
    explainer = ChannelSwapExplainer(model, n_windows=2, random_state=0).fit(X, y)
    explanation = explainer.explain(X[:6])
    for i, r in enumerate(explanation.row):
        changed = explanation.counterfactuals[i] != X[r]
        told = np.zeros_like(changed)
        for channel, first, last in explanation.details.swapped[i]:
            assert (first, last) in {(0, 1), (2, 3)}
            told[first : last + 1, channel] = True
        assert np.array_equal(changed, told)


def test_more_windows_than_times_are_refused():
    X, y = with_bump()
    with pytest.raises(ValueError, match="n_windows=40.*36"):
        ChannelSwapExplainer(RandomForestClassifier(), n_windows=40).fit(X, y)


def test_the_contract_on_series_of_several_channels():
    X, y, model = with_channels(n=40, n_channels=3)
    model.set_params(randomforestclassifier__n_estimators=5)
    check_explainer(ChannelSwapExplainer(model), X, np.where(y, "yes", "no"))
