"""Small forests and tasks over random series, shared by the tests of this room."""

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from skcf._model import BlackBox, Goal, Meter
from skcf._series import SeriesCost, SeriesSpace, Task, gauge_of, read_model


def series(seed, n=14, n_times=4):
    """Return (X, y) of random series of two classes."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_times))
    y = (X[:, 0] + X[:, 1] + random.normal(size=n) / 2 > 0).astype(int)
    y[:2] = 0, 1
    return X, y


def forest(seed, n_trees=5, max_depth=2, **shape):
    """Return (X, fitted forest)."""
    X, y = series(seed, **shape)
    model = RandomForestClassifier(n_trees, max_depth=max_depth, random_state=seed)
    return X, model.fit(X, y)


def goal(label, opposite=False, nu=None):
    """Return the goal of one row of a classifier."""
    return Goal(label=np.array([label]), opposite=np.array([opposite]), nu=nu)


def interval(low, high):
    """Return the goal of one row of a regressor."""
    return Goal(low=np.array([low]), high=np.array([high]))


def wrapped(model, X, threshold=None, channel_axis=2):
    """Return (black box, space, reader) of a fitted model."""
    space = SeriesSpace(X, channel_axis)
    box = BlackBox(model, space, X, None, threshold, read=False)
    return box, space, read_model(box, space, space.encode(X))


def task(seed, n_times=4, tol=1e-3, **params):
    """Return the Task of a random query, whose forest is to change its class."""
    X, model = forest(seed, n_times=n_times, **params)
    x = np.random.default_rng(1000 + seed).normal(size=n_times)
    now = model.predict(x[None])[0]
    box, space, reader = wrapped(model, X)
    gauge = gauge_of(reader, box, goal(now, opposite=True))
    return Task(
        x,
        X[model.predict(X) != now],
        gauge,
        SeriesCost(space).quadratic(x),
        space.channel,
        space.n_channels,
        0.0,
        1.0,
        Meter(),
        lambda codes: codes,
        tol,
    )
