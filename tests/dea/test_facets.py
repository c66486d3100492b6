import numpy as np
import pytest

from skcf.dea._facets import _expected, enumerate_facets
from tests.dea.units import TECHNOLOGIES, made


def facets(x, y, kind, most=10_000):
    return enumerate_facets(np.array(x, float), np.array(y, float), kind, most)


def as_set(rows):
    return {tuple(row.round(6) + 0.0) for row in rows}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # x >= 0 and x >= y
        ("crs", {(1, 0, 0), (1, 1, 0)}),
        # x >= 1, 2 x >= 3 y - 1, y <= 3, and what is always so
        ("vrs", {(1, 0, 1), (0.666667, 1, -0.333333), (0, 0.333333, -1), (0, 0, -1)}),
        ("drs", {(1, 0, 0), (1, 1, 0), (0.666667, 1, -0.333333), (0, 0.333333, -1)}),
        ("irs", {(1, 0, 0), (1, 1, 0), (1, 0, 1)}),
    ],
)
def test_facets_of_three_units(kind, expected):
    found = as_set(facets([[1], [4], [8]], [[1], [3], [3]], kind))
    assert found - {(0, 0, -1)} == expected - {(0, 0, -1)}


@pytest.mark.parametrize("kind", TECHNOLOGIES)
@pytest.mark.parametrize("seed", range(4))
def test_every_facet_holds_all_units_and_touches_enough(kind, seed):
    plans = made(seed, 12, 2, 2)
    rows = facets(plans[:, :2], plans[:, 2:], kind)
    u, v, w = rows[:, :2], rows[:, 2:4], rows[:, 4]
    profit = u @ plans[:, :2].T - v @ plans[:, 2:].T - w[:, None]
    assert profit.min() > -1e-12
    assert (np.abs(rows).max(axis=1) == 1).all()
    # An extreme ray is determined by the constraints that are tight on it.
    for row, slack in zip(rows, profit, strict=True):
        tight = [
            np.r_[x, -y, -1.0]
            for x, y in zip(
                plans[slack < 1e-9][:, :2], plans[slack < 1e-9][:, 2:], strict=True
            )
        ]
        tight += [e for e, value in zip(np.eye(4, 5), row, strict=False) if not value]
        if not row[4]:
            tight.append(np.eye(5)[4])
        assert np.linalg.matrix_rank(np.array(tight), tol=1e-9) == 4


@pytest.mark.parametrize("kind", TECHNOLOGIES)
def test_degenerate_units(kind):
    single = as_set(facets([[2.0]], [[1.0]], kind))
    assert single == as_set(facets([[2.0]] * 3, [[1.0]] * 3, kind))
    # On a line, and with a column that never changes.
    ray = np.arange(1.0, 5.0)[:, None]
    rows = facets(np.hstack([ray, np.ones_like(ray)]), ray, kind)
    assert len(rows) and np.isfinite(rows).all()


def test_too_many_facets():
    plans = made(1, 30, 3, 2)
    number = len(facets(plans[:, :3], plans[:, 3:], "vrs"))
    assert facets(plans[:, :3], plans[:, 3:], "vrs", number) is not None
    assert facets(plans[:, :3], plans[:, 3:], "vrs", number - 1) is None


def test_growth_is_foreseen():
    assert _expected([16], [100], 22) == 0
    assert _expected([16, 32], [100, 400], 64) == pytest.approx(1600)
    assert _expected([16, 32], [400, 100], 64) == 100


def test_many_columns_are_given_up_soon():
    plans = made(1, 40, 10, 10)
    assert facets(plans[:, :10], plans[:, 10:], "crs", 5000) is None
