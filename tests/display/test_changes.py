"""Tests of ChangesDisplay: what is drawn, where, and that it stays readable."""

import builtins
import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcf import Explanation
from skcf.display import ChangesDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def build(columns, library):
    if library == "numpy":
        return np.array(list(zip(*columns.values(), strict=True)), dtype=object)
    return (pd if library == "pandas" else pl).DataFrame(columns)


def explain(queries, found, row, rank=None, status=None, **fields):
    """Make an explanation of columns, given as dicts of lists."""
    library = fields.pop("library", "pandas")
    n, m = len(next(iter(queries.values()))), len(row)
    default = {
        "queries": build(queries, library),
        "counterfactuals": build(found, library),
        "row": list(row),
        "rank": [0] * m if rank is None else rank,
        "status": status or ["found"] * n,
        "target": ["yes"] * n,
        "cost": np.arange(1, m + 1) / 8,
        "n_changed": [1] * m,
        "prediction_before": np.array(["no"] * n),
        "prediction": np.array(["yes"] * m, dtype="U3"),
        "score_before": np.full(n, 0.25),
        "score": np.full(m, 0.75),
        "optimal": np.zeros(m, dtype=bool),
        "lower_bound": np.full(n, np.nan),
    }
    if library == "pandas":
        default["counterfactuals"].index = default["queries"].index[list(row)]
    return Explanation(**(default | fields))


QUERIES = {"age": [30, 20, 40, 50], "job": ["cook", "clerk", "cook", "cook"]}


def example(library="pandas", **fields):
    """Explain four queries: 0 at two ranks, 2, and neither 1 nor 3."""
    status = ["found", "already", "found", "infeasible"]
    found = {"age": [35, 30, 20], "job": ["cook", "clerk", "clerk"]}
    default = {"status": status, "library": library}
    return explain(QUERIES, found, [0, 0, 2], [0, 1, 0], **(default | fields))


def texts(display):
    return [text.get_text() for text in display.texts_]


def followed(words, *expected):
    """Tell whether words follow one another somewhere in a list."""
    size = len(expected)
    return any(
        tuple(words[start : start + size]) == expected for start in range(len(words))
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_changes_of_rank_zero(library):
    display = ChangesDisplay.from_explanation(example(library))
    age, job = ("x0", "x1") if library == "numpy" else ("age", "job")
    assert display.changes == [
        (0, 0, age, 30, 35),
        (2, 0, age, 40, 20),
        (2, 0, job, "cook", "clerk"),
    ]
    assert [group.row for group in display.groups] == [0, 1, 2, 3]
    assert [group.rank for group in display.groups] == [0, None, 0, None]
    assert display.ranges == {age: (20.0, 50.0)}
    assert display.n_hidden == 0
    words = texts(display.plot())
    assert followed(words, age, "30", "35")
    assert followed(words, age, "40", "20")
    assert followed(words, job, "cook", "clerk")
    assert "already: predicted no" in words
    assert "infeasible: predicted no, target yes" in words
    assert [word for word in words if word.startswith("cost")] == [
        "cost 0.125",
        "cost 0.375",
    ]


def test_more_ranks():
    display = ChangesDisplay.from_explanation(example(), n_counterfactuals=2)
    assert [(g.row, g.rank) for g in display.groups] == [
        (0, 0),
        (0, 1),
        (1, None),
        (2, 0),
        (3, None),
    ]
    assert "query 0, rank 1" in texts(display.plot())
    assert (0, 1, "job", "cook", "clerk") in display.changes


def test_rows_and_max_rows():
    explanation = example()
    display = ChangesDisplay.from_explanation(explanation, rows=[2, 0])
    assert [group.row for group in display.groups] == [2, 0]
    words = texts(display.plot())
    assert words.index("query 2") < words.index("query 0")
    display = ChangesDisplay.from_explanation(explanation, max_rows=1)
    assert [group.row for group in display.groups] == [0]
    assert {cell[0] for cell in display.changes} == {0}
    assert texts(display.plot())[-1] == "3 more queries not shown"
    with pytest.raises(ValueError, match="positions of the 4 queries, got 4"):
        ChangesDisplay.from_explanation(explanation, rows=[0, 4])


def test_max_changes():
    queries = {f"f{j}": [0.0] for j in range(14)}
    found = {f"f{j}": [1.0] for j in range(14)}
    explanation = explain(queries, found, [0])
    words = texts(ChangesDisplay.from_explanation(explanation).plot())
    assert "f9" in words
    assert "f10" not in words
    assert words[-1] == "4 more changes"
    display = ChangesDisplay.from_explanation(explanation, max_changes=13).plot()
    assert texts(display)[-1] == "1 more change"


def test_positions_are_on_the_scale_of_the_feature():
    queries = {"a": [0.0, 10.0, 5.0]}
    found = {"a": [5.0, 7.5, 10.0]}
    display = ChangesDisplay.from_explanation(explain(queries, found, range(3))).plot()
    first, second, third = (line.get_xdata() for line in display.lines_)
    low, high = first[0], second[0]
    assert low < high
    position = (np.array([first, second, third]) - low) / (high - low)
    np.testing.assert_allclose(position, [[0, 0.5], [1, 0.75], [0.5, 1]])


def test_scale_of_a_reference():
    explanation = explain({"a": [4.0], "b": [0]}, {"a": [6.0], "b": [0]}, [0])
    reference = pd.DataFrame({"b": [9], "a": [0.0]})
    display = ChangesDisplay.from_explanation(explanation, reference=reference)
    assert display.ranges == {"a": (0.0, 6.0)}
    reference = pl.DataFrame({"a": [-2.0, 8.0, None]})
    display = ChangesDisplay.from_explanation(explanation, reference=reference)
    assert display.ranges == {"a": (-2.0, 8.0)}


def test_direction_has_color_and_marker():
    from matplotlib.colors import to_rgb

    explanation = explain({"a": [1.0, 5.0]}, {"a": [2.0, 4.0]}, [0, 1])
    display = ChangesDisplay.from_explanation(explanation).plot()
    up, down = display.lines_
    assert to_rgb(up.get_color()) != to_rgb(down.get_color())
    heads = [(up.get_ydata()[0], ">"), (down.get_ydata()[0], "<")]
    for line, (y, head) in zip((up, down), heads, strict=True):
        assert markers_at(display, y) == {"o": line.get_color(), head: line.get_color()}


def markers_at(display, y):
    """Return the markers at a height and their edge colours."""
    return {
        line.get_marker(): line.get_markeredgecolor()
        for line in display.ax_.lines
        if line.get_ydata()[0] == y and line.get_marker() in ("o", "<", ">")
    }


def test_head_of_a_change_too_small_to_see():
    explanation = explain({"a": [1e-9, 1e9]}, {"a": [1.1e-9, 1.0]}, [0, 1])
    display = ChangesDisplay.from_explanation(explanation).plot()
    y = display.lines_[0].get_ydata()[0]
    # No dot, which would hide the head, and the head points up all the same.
    assert list(markers_at(display, y)) == [">"]


def test_missing_and_infinite_values_are_written():
    explanation = explain({"a": [1.0, np.inf]}, {"a": [None, 2.0]}, [0, 1])
    display = ChangesDisplay.from_explanation(explanation).plot()
    assert followed(texts(display), "a", "1", "missing")
    assert followed(texts(display), "a", "inf", "2")
    assert display.lines_ == []


def test_blocking_rule():
    details = {"blocking_rules": [None, None, None, "fixed('job')"]}
    display = ChangesDisplay.from_explanation(example(details=details)).plot()
    assert texts(display)[-1] == "has an answer without fixed('job')"


def test_none_found():
    explanation = explain(QUERIES, {"age": [], "job": []}, [], status=["budget"] * 4)
    display = ChangesDisplay.from_explanation(explanation).plot()
    assert display.changes == []
    words = texts(display)
    assert words[:2] == ["query 0", "budget: predicted no, target yes"]
    assert len(words) == 8


def test_long_names_are_shortened_and_nothing_overlaps():
    queries = {"W" * 60: [1.0, 2.0], "$x$ and $y": ["m" * 90, "m"], "b": [1, 10**15]}
    found = {"W" * 60: [2.0, 1.0], "$x$ and $y": ["n" * 90, "n" * 90], "b": [3, 1]}
    explanation = explain(queries, found, [0, 1])
    display = ChangesDisplay.from_explanation(explanation).plot()
    # A name with dollar signs is not a formula.
    assert "$x$ and $y" in texts(display)
    assert not any(text.get_parse_math() for text in display.texts_)
    assert any(word.startswith("WWW") and word.endswith("…") for word in texts(display))
    assert_readable(display)


@pytest.mark.parametrize("pair", [("x" * 45, "y"), ("x", "y" * 40)])
def test_a_long_category_takes_the_room_of_a_short_one(pair):
    explanation = explain({"a": [pair[0]]}, {"a": [pair[1]]}, [0])
    display = ChangesDisplay.from_explanation(explanation).plot()
    assert followed(texts(display), "a", *pair)
    assert_readable(display)


@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_nothing_overlaps(library):
    assert_readable(ChangesDisplay.from_explanation(example(library)).plot())


@pytest.mark.parametrize("size", [(4.0, 2.0), (8.0, 1.0), (5.0, 9.0)])
def test_nothing_overlaps_in_given_axes(size):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=size)
    display = ChangesDisplay.from_explanation(example())
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert_readable(display)


def assert_readable(display):
    """Check that all text is inside the axes and that no text covers another."""
    area = display.ax_.get_window_extent()
    boxes = [text.get_window_extent() for text in display.texts_]
    for box in boxes:
        assert box.x0 >= area.x0 - 1
        assert box.x1 <= area.x1 + 1
        assert box.y0 >= area.y0 - 1
        assert box.y1 <= area.y1 + 1
    for one, other in itertools.combinations(boxes, 2):
        width = min(one.x1, other.x1) - max(one.x0, other.x0)
        height = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert width <= 0.5 or height <= 0.5


def test_height_follows_the_lines():
    explanation = example()
    few = ChangesDisplay.from_explanation(explanation, max_rows=1).plot()
    many = ChangesDisplay.from_explanation(explanation).plot()
    assert many.figure_.get_figheight() > few.figure_.get_figheight()
    assert many.texts_[0].get_fontsize() == few.texts_[0].get_fontsize()


def test_plot_again():
    display = ChangesDisplay.from_explanation(example()).plot()
    first, count = display.ax_, len(display.texts_)
    display.plot()
    assert display.ax_ is not first
    assert len(display.texts_) == count


def test_init_stores_what_it_is_given():
    changes, groups, ranges = [(0, 0, "a", 1, 2)], [], {"a": (0.0, 3.0)}
    display = ChangesDisplay(changes=changes, groups=groups, ranges=ranges)
    assert display.changes is changes
    assert display.groups is groups
    assert display.ranges is ranges
    assert not hasattr(display, "ax_")


def test_from_explainer():
    class Recorder:
        def explain(self, X, *, target=None, n_counterfactuals=1):
            self.call = X, target, n_counterfactuals
            return example()

    explainer, X = Recorder(), object()
    display = ChangesDisplay.from_explainer(
        explainer, X, target="yes", n_counterfactuals=2, rows=[0], max_changes=3
    )
    assert explainer.call == (X, "yes", 2)
    assert [(group.row, group.rank) for group in display.groups] == [(0, 0), (0, 1)]
    assert display.max_changes == 3


def test_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    display = ChangesDisplay.from_explanation(example())
    monkeypatch.setattr(builtins, "__import__", guarded)
    with pytest.raises(ImportError, match=r'pip install "skcf\[plot\]"'):
        display.plot()


def test_import_is_free_of_matplotlib():
    code = "import sys, skcf.display; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
