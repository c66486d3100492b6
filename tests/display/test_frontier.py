import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from skcf.costs import Cost
from skcf.dea import DEATargetExplainer
from skcf.display import FrontierDisplay
from tests.dea.units import FIRMS, efficiency, made

COST = Cost(l1=0.0, l2=1.0, scale="none", average=False)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def frame():
    return pd.DataFrame(FIRMS, columns=["x1", "x2", "y"], index=list("abcd"))


def firms(**params):
    made_of = {"inputs": ["x1", "x2"], "outputs": ["y"], "efficiency": 0.8}
    return DEATargetExplainer(**{**made_of, "cost": COST, **params}).fit(frame())


def test_plane_of_the_third_firm():
    display = FrontierDisplay.from_explainer(firms(), frame())
    data = display.frontier
    assert data.columns == ["x1", "x2"] and data.label == "c" and data.below
    np.testing.assert_allclose(data.unit, [1.75, 1.25])
    np.testing.assert_allclose(data.targets, [[1.525, 0.8]])
    np.testing.assert_allclose(data.farrell, [1.286765, 0.919118], atol=1e-6)
    assert [label for label, _ in data.peers] == ["a", "b"]
    # x1 + 2 x2 = 2.5 between the two efficient firms.
    curve = data.curves[1.0]
    between = (curve[:, 0] > 0.52) & (curve[:, 0] < 1.48)
    assert between.sum() > 50
    np.testing.assert_allclose((curve @ [1, 2])[between], 2.5)
    np.testing.assert_allclose(data.curves[0.8], curve / 0.8)


@pytest.mark.parametrize("max_facets", [1000, 0])
@pytest.mark.parametrize("measure", ["input", "output"])
@pytest.mark.parametrize("change", ["inputs", "outputs"])
def test_curves_have_their_efficiency(change, measure, max_facets):
    units = made(1, 8, 2, 2)
    explainer = DEATargetExplainer(
        inputs=[0, 1],
        outputs=[2, 3],
        efficiency=0.8,
        returns_to_scale="vrs",
        change=change,
        measure=measure,
        max_facets=max_facets,
    ).fit(units)
    row = int(np.argmin(explainer.dea_.efficiency_))
    frontier = FrontierDisplay.from_explainer(explainer, units, row=row).frontier
    assert frontier.below == (change == "inputs")
    assert frontier.shaded == (change[:-1] == measure)
    for level, curve in frontier.curves.items():
        assert len(curve) > 20
        if level == 1:
            continue
        for point in curve[1:-1:60]:
            plan = units[row].copy()
            plan[slice(0, 2) if frontier.below else slice(2, 4)] = point
            found = efficiency(units, 2, plan, "vrs", measure)
            assert found == pytest.approx(level, abs=1e-6)


def test_plot_draws_everything():
    explanation = firms().explain(frame(), n_counterfactuals=2)
    display = FrontierDisplay.from_explanation(explanation, firms(), row=3)
    assert display.plot() is display
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == [
        "frontier",
        "efficiency 0.8",
        "radial projection",
        "target 1",
        "target 2",
        "d",
    ]
    assert display.ax_.get_xlabel() == "x1"
    assert display.ax_.get_xlim()[1] > 2.5
    assert display.figure_ is display.ax_.figure


def test_plot_in_given_axes():
    ax = plt.subplots()[1]
    display = FrontierDisplay.from_explainer(firms(efficiency=1.0), frame())
    assert display.plot(ax=ax).ax_ is ax
    assert list(display.frontier.curves) == [1.0]


def test_names_are_no_formulas():
    columns = ["$a", "b$", "$y$"]
    table = frame().set_axis(columns, axis=1).set_axis(list("$_$^"), axis=0)
    explainer = DEATargetExplainer(inputs=columns[:2], outputs=columns[2:]).fit(table)
    display = FrontierDisplay.from_explainer(explainer, table)
    display.plot().figure_.canvas.draw()
    display.plot_changes().figure_.canvas.draw()


def test_no_plane():
    both = FrontierDisplay.from_explainer(firms(change="both"), frame())
    with pytest.raises(ValueError, match="2 inputs and 1 outputs, not two of one kind"):
        both.plot()
    both.plot_changes()


def test_row_out_of_range():
    with pytest.raises(ValueError, match="row must be a position of the 4 units"):
        FrontierDisplay.from_explainer(firms(), frame(), row=4)


def test_map_of_changes():
    display = FrontierDisplay.from_explainer(firms(), frame()).plot_changes()
    expected = [[-0.225 / 1.75, -0.45 / 1.25], [0.0, -0.5]]
    assert np.isnan(display.changes[:2]).all()
    np.testing.assert_allclose(display.changes[2:], expected)
    image = display.ax_.get_images()[0]
    assert image.get_clim() == (-0.5, 0.5)
    assert image.get_array().mask[:2].all()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == list("abcd")


def test_map_where_nothing_changes():
    display = FrontierDisplay.from_explainer(firms(), frame().iloc[:1]).plot_changes()
    assert np.isnan(display.changes).all()
    assert display.summary()["frequency"].tolist() == [0.0, 0.0, 0.0]


def test_summary_is_that_of_tables_4_8_and_4_9():
    summary = FrontierDisplay.from_explainer(firms(), frame()).summary()
    assert summary["feature"].tolist() == ["x1", "x2", "all"]
    np.testing.assert_allclose(summary["frequency"], [0.5, 1.0, 1.5])
    first, second = 0.225 / 1.75, (0.36 + 0.5) / 2
    norm = (np.hypot(0.225 / 1.75, 0.36) + 0.5) / 2
    np.testing.assert_allclose(summary["relative_change"], [first, second, norm])


def test_summary_in_the_library_of_the_units():
    table = pl.from_pandas(frame())
    explainer = DEATargetExplainer(inputs=["x1", "x2"], outputs=["y"]).fit(table)
    summary = FrontierDisplay.from_explainer(explainer, table).summary()
    assert isinstance(summary, pl.DataFrame)
    explainer = DEATargetExplainer(inputs=[0, 1], outputs=[2]).fit(FIRMS)
    display = FrontierDisplay.from_explainer(explainer, FIRMS, row=2)
    assert display.columns == ["x0", "x1"] and display.frontier.label == "unit 2"
    assert isinstance(display.summary(), pd.DataFrame)
