"""Series that the benchmarks share, from the folder that SKCF_DATA names."""

import os
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer


def folder():
    """Return the folder with the data."""
    named = os.environ.get("SKCF_DATA")
    if not named:
        raise SystemExit("set SKCF_DATA to a folder with the files of the series")
    return Path(named)


def italy(part):
    """Return (X, y) of ItalyPowerDemand, TRAIN or TEST."""
    X, y, begun = [], [], False
    for line in (folder() / f"ItalyPowerDemand_{part}.ts").read_text().splitlines():
        if begun and line.strip():
            values, label = line.strip().rsplit(":", 1)
            X.append([float(v) for v in values.split(",")])
            y.append(int(label))
        begun = begun or line.lower().startswith("@data")
    return np.array(X), np.array(y)


def natops(first, second):
    """Return (X, y, names of channels) of two classes of NATOPS, both parts joined."""
    parts = [np.load(folder() / f"natops_{part}.npz") for part in ("train", "test")]
    X = np.concatenate([part["X"] for part in parts]).astype(float)
    y = np.concatenate([part["y"].astype(float).astype(int) for part in parts])
    kept = np.isin(y, (first, second))
    return X[kept], y[kept], [str(c) for c in parts[0]["columns"]]


def flat(X):
    """Return series as rows."""
    return X.reshape(len(X), -1)


def forest_of(n_trees=200, max_depth=4):
    """Return a forest over the cells of series."""
    forest = RandomForestClassifier(n_trees, max_depth=max_depth, random_state=0)
    return make_pipeline(FunctionTransformer(flat), forest)
