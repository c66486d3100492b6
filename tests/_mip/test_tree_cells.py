import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from skcf._model import Goal
from skcf.constraints import fixed, max_changes, together
from skcf.costs import Cost
from skcf.tabular import OptimalExplainer
from tests.random_cases import encoded
from tests.random_rules import Column

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "n": RNG.integers(0, 20, 80),
        "f": RNG.normal(size=80).round(2),
        "k": RNG.choice(["p", "q", "r"], 80),
        "m": RNG.integers(0, 3, 80),
    }
)
Y = (X["n"] / 10 + X["f"] + (X["k"] == "q") > 1.4).astype(int).to_numpy()


def cells_of(row, constraints=(), cost="gower", lifted=-1, **params):
    columns = [
        Column(name, "str" if name == "k" else "float", X[name].tolist()) for name in X
    ]
    model = encoded(RandomForestClassifier(6, max_depth=3, random_state=0), columns)
    explainer = OptimalExplainer(model, constraints=constraints, cost=cost, **params)
    explainer.fit(X, Y)
    solver, space = explainer._solver, explainer._space
    x = space.encode(row)[0]
    goal = Goal(np.array([1]), np.array([False]))
    (rows,) = solver.rows.alternatives(goal)
    return explainer, solver.maker.make(x, solver.encode(row)[0], rows, lifted)


@pytest.mark.parametrize(
    "cost", ["gower", Cost(l0=0.3, l2=1.0, up={"n": 2.0}), "geco"], ids=str
)
def test_values_cost_what_their_codes_cost(cost):
    explainer, cells = cells_of(X.iloc[[3]], cost=cost)
    rng = np.random.default_rng(1)
    for _ in range(30):
        spans = zip(cells.offsets[:-1], cells.offsets[1:], strict=True)
        choice = np.array([rng.integers(a, b) for a, b in spans])
        codes = cells.point(choice)
        told = explainer._cost.rows(cells.x, codes)
        np.testing.assert_allclose(cells.cost_of(choice), told, atol=1e-12)
    home = cells.home
    assert (home >= 0).all() and cells.cost_of(home) == 0.0
    np.testing.assert_array_equal(cells.point(home), cells.x)


def test_each_number_stands_for_the_nearest_of_its_interval():
    _, cells = cells_of(X.iloc[[3]])
    for g in (0, 1):
        at = slice(cells.offsets[g], cells.offsets[g + 1])
        near = np.clip(cells.x[g], cells.low[at], cells.high[at])
        np.testing.assert_array_equal(cells.code[at, 0], near)
    whole = cells.code[: cells.offsets[1], 0]
    np.testing.assert_array_equal(whole, np.rint(whole))


def test_rules_on_one_column_forbid_values_or_move_them():
    row = X.iloc[[3]]
    n = int(row["n"].iloc[0])
    _, cells = cells_of(row, [f"cf.n != {n + 1}", "cf.n >= x.n", fixed("k")])
    mine = slice(cells.offsets[0], cells.offsets[1])
    allowed = cells.code[mine, 0][np.isfinite(cells.cost[mine])]
    assert (allowed >= n).all() and n + 1 not in allowed
    kinds = slice(cells.offsets[2], cells.offsets[3])
    assert np.isfinite(cells.cost[kinds]).sum() == 1


def test_a_value_that_a_rule_takes_from_the_query_is_no_home():
    row = X.iloc[[3]]
    n = int(row["n"].iloc[0])
    _, cells = cells_of(row, [f"cf.n != {n}"])
    assert cells.home[0] == -1 and (cells.home[1:] >= 0).all()
    explainer, lifted = cells_of(row, [f"cf.n != {n}"], lifted=0)
    assert lifted.home[0] >= 0


def test_couplings_tell_what_the_rule_tells():
    words = "cf.n > x.n => cf.f >= x.f + 0.5"
    explainer, cells = cells_of(X.iloc[[3]], [words, max_changes(2)])
    ((groups, table),) = cells.couplings
    mask, most = cells.limits[0]
    assert most == 2 and mask.all()
    rules = explainer._rules
    for i, j in np.ndindex(table.shape):
        choice = cells.home.copy()
        choice[groups[0]] = cells.offsets[groups[0]] + i
        choice[groups[1]] = cells.offsets[groups[1]] + j
        codes = cells.point(choice)
        assert rules.holds(cells.x[None], codes[None])[0] == table[i, j]


def test_a_group_takes_combinations_that_were_seen():
    explainer, cells = cells_of(X.iloc[[3]], [together("k", "m")])
    g = explainer._space.groups.index((2, 3))
    codes = cells.code[cells.offsets[g] : cells.offsets[g + 1]]
    seen = np.unique(explainer._space.encode(X)[:, 2:], axis=0)
    np.testing.assert_array_equal(np.unique(codes, axis=0), seen)
