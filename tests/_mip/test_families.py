import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skcf._mip import _tree_cells
from skcf._mip._families import solver_for
from skcf._mip._interval import IntervalSolver
from skcf._mip._linear import LinearSolver
from skcf._mip._network import NetworkSolver
from skcf._mip._tree_solver import TreeSolver
from tests._mip.boxes import fitted, parts_of


def chosen(model, rules=()):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, (X[:, 0] > 0).astype(int))
    return solver_for(*parts_of(fitted(model, X, rules=rules)))


@pytest.mark.parametrize(
    "model, solver",
    [
        (DecisionTreeClassifier(), TreeSolver),
        (LogisticRegression(), LinearSolver),
        (MLPClassifier((2,), activation="identity", max_iter=2), LinearSolver),
        (MLPClassifier((2,), max_iter=2), NetworkSolver),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_by_family(model, solver):
    assert type(chosen(model)) is solver


def test_none_for_a_black_box():
    assert chosen(KNeighborsClassifier()) is None


def test_a_program_where_a_rule_is_not_tabulated(monkeypatch):
    monkeypatch.setattr(_tree_cells, "MAX_POINTS", 2)
    rules = ("cf[0] <= cf[1]",)
    assert type(chosen(DecisionTreeClassifier(), rules)) is IntervalSolver


def test_none_for_a_network_that_bends_smoothly():
    assert chosen(MLPClassifier((2,), activation="tanh", max_iter=2)) is None
