"""What changes in each query, before and after, in the features' own units."""

import numpy as np
from sklearn.utils import Bunch

from skcf._explanation._cells import as_reader, cells, feature_names
from skcf._explanation._plain import counted, is_number
from skcf.display._panel import Panel, height_of

# In points: the width of a new figure, and its margin.
_WIDTH = 540.0
_MARGIN = 8.0


class ChangesDisplay:
    """Changes of each query, before and after.

    Each query has a heading with its prediction and cost, and below it a line for
    each changed feature. A number is drawn on the range of its feature, from a hollow
    dot at the old value to an arrow head at the new one, and both are written in the
    feature's own units. A category is written as old and new. Queries without a
    counterfactual are listed with their status.

    It is recommended to use :meth:`from_explainer` or :meth:`from_explanation` to
    create a display.

    Parameters
    ----------
    changes : list of (int, int, str, object, object)
        The position of the query, the rank of the counterfactual, the feature, and its
        value before and after, for each changed cell that is to be drawn.

    groups : list of Bunch
        The headings in their order, one for each counterfactual and one for each query
        without any: `row`, `rank` (None without a counterfactual), `label`, `status`,
        `target`, `prediction_before`, `prediction`, `cost` and `blocking_rule`.

    ranges : dict of str to (float, float)
        The lowest and highest value of each numeric feature, the ends of its scale.

    n_hidden : int, default=0
        The number of queries that are left out.

    max_changes : int, default=10
        The number of changes of a counterfactual that are drawn at most.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the changes.

    figure_ : matplotlib Figure
        Figure containing the axes.

    texts_ : list of matplotlib Text
        All text, line by line.

    lines_ : list of matplotlib Line2D
        One line from old to new for each number that changes.

    See Also
    --------
    skcf.Explanation.changes : The same as a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from skcf import Explanation
    >>> from skcf.display import ChangesDisplay
    >>> explanation = Explanation(
    ...     queries=np.array([[30.0, 1.5], [45.0, 2.0]]),
    ...     counterfactuals=np.array([[30.0, 2.5]]),
    ...     row=[0],
    ...     rank=[0],
    ...     status=["found", "infeasible"],
    ...     target=["yes", "yes"],
    ...     cost=[0.25],
    ...     n_changed=[1],
    ...     prediction_before=["no", "no"],
    ...     prediction=["yes"],
    ...     score_before=[0.3, 0.1],
    ...     score=[0.75],
    ...     optimal=[True],
    ...     lower_bound=[0.25, np.inf],
    ... )
    >>> display = ChangesDisplay.from_explanation(explanation)
    >>> display.changes
    [(0, 0, 'x1', 1.5, 2.5)]
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(self, *, changes, groups, ranges, n_hidden=0, max_changes=10):
        self.changes = changes
        self.groups = groups
        self.ranges = ranges
        self.n_hidden = n_hidden
        self.max_changes = max_changes

    @classmethod
    def from_explainer(
        cls,
        explainer,
        X,
        *,
        target=None,
        n_counterfactuals=1,
        rows=None,
        max_rows=8,
        max_changes=10,
        reference=None,
    ):
        """Explain some queries and show what changes.

        Parameters
        ----------
        explainer : object
            A fitted explainer.

        X : {ndarray, DataFrame} of shape (n_queries, n_features)
            The queries.

        target : object, default=None
            Passed on to the `explain` method of the explainer.

        n_counterfactuals : int, default=1
            The number of counterfactuals to show for each query at most.

        rows : array-like of int, default=None
            The positions of the queries to show, in the order to show them; by
            default from the first on.

        max_rows : int, default=8
            The number of queries to show at most; a line says how many are left.

        max_changes : int, default=10
            The number of changes to show for each counterfactual at most.

        reference : {ndarray, DataFrame} of shape (n_rows, n_features), default=None
            Rows, such as the training data, whose range is the scale of each feature.
            By default the range is that of the queries and the counterfactuals, which
            are within the scale in any case.

        Returns
        -------
        display : :class:`ChangesDisplay`
            The display, not yet drawn.
        """
        explanation = explainer.explain(
            X, target=target, n_counterfactuals=n_counterfactuals
        )
        return cls.from_explanation(
            explanation,
            n_counterfactuals=n_counterfactuals,
            rows=rows,
            max_rows=max_rows,
            max_changes=max_changes,
            reference=reference,
        )

    @classmethod
    def from_explanation(
        cls,
        explanation,
        *,
        n_counterfactuals=1,
        rows=None,
        max_rows=8,
        max_changes=10,
        reference=None,
    ):
        """Show what changes in an explanation.

        Parameters
        ----------
        explanation : :class:`~skcf.Explanation`
            What was found.

        n_counterfactuals : int, default=1
            The number of counterfactuals to show for each query at most.

        rows : array-like of int, default=None
            The positions of the queries to show, in the order to show them; by
            default from the first on.

        max_rows : int, default=8
            The number of queries to show at most; a line says how many are left.

        max_changes : int, default=10
            The number of changes to show for each counterfactual at most.

        reference : {ndarray, DataFrame} of shape (n_rows, n_features), default=None
            Rows, such as the training data, whose range is the scale of each feature.
            By default the range is that of the queries and the counterfactuals, which
            are within the scale in any case.

        Returns
        -------
        display : :class:`ChangesDisplay`
            The display, not yet drawn.

        Raises
        ------
        ValueError
            If one of `rows` is not the position of a query.
        """
        n_queries = len(explanation.status)
        rows = np.arange(n_queries) if rows is None else np.asarray(rows, dtype=np.intp)
        wrong = rows[(rows < 0) | (rows >= n_queries)]
        if len(wrong):
            raise ValueError(
                f"rows must be positions of the {n_queries} queries, got {wrong[0]}."
            )
        shown = rows[:max_rows]
        found = np.flatnonzero(
            np.isin(explanation.row, shown) & (explanation.rank < n_counterfactuals)
        )
        groups = []
        for row in shown.tolist():
            own = [i for i in found.tolist() if explanation.row[i] == row]
            groups += [_group(explanation, row, i) for i in own or [None]]
        changes = list(explanation._iter_changes(found))
        return cls(
            changes=changes,
            groups=groups,
            ranges=_ranges(
                explanation, {name for _, _, name, *_ in changes}, reference
            ),
            n_hidden=len(rows) - len(shown),
            max_changes=max_changes,
        )

    def plot(self, *, ax=None):
        """Draw the changes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. By default a new figure is made, as high as the lines need.

        Returns
        -------
        display : :class:`ChangesDisplay`
            The display itself, with the attributes `ax_`, `figure_`, `texts_` and
            `lines_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "ChangesDisplay.plot needs matplotlib. Install it with "
                '`pip install "skcf[plot]"`.'
            ) from error
        lines = self._lines()
        if ax is None:
            width, height = _WIDTH + 2 * _MARGIN, height_of(lines) + 2 * _MARGIN
            figure = plt.figure(figsize=(width / 72, height / 72))
            x, y = _MARGIN / width, _MARGIN / height
            ax = figure.add_axes((x, y, 1 - 2 * x, 1 - 2 * y))
        self.ax_, self.figure_ = ax, ax.figure
        self.texts_, self.lines_ = Panel(ax, self.ranges).draw(lines)
        return self

    def _lines(self):
        """Return what there is to draw, top down."""
        cells = {}
        for row, rank, feature, before, after in self.changes:
            cells.setdefault((row, rank), []).append((feature, before, after))
        lines = [Bunch(kind="key")]
        for group in self.groups:
            lines.append(Bunch(kind="heading", group=group))
            if group.blocking_rule is not None:
                text = f"has an answer without {group.blocking_rule}"
                lines.append(Bunch(kind="note", text=text))
            changes = cells.get((group.row, group.rank), [])
            for feature, before, after in changes[: self.max_changes]:
                line = Bunch(feature=feature, before=before, after=after)
                numeric = is_number(before) and is_number(after)
                line.kind = "number" if numeric else "category"
                lines.append(line)
            left = len(changes) - self.max_changes
            if left > 0:
                text = counted(left, "more change", "more changes")
                lines.append(Bunch(kind="note", text=text))
        if self.n_hidden:
            text = counted(self.n_hidden, "more query", "more queries")
            lines.append(Bunch(kind="hidden", text=f"{text} not shown"))
        if not any(line.kind == "number" for line in lines):
            del lines[0]
        return lines


def _group(explanation, row, position):
    """Return the heading of a counterfactual, or of a query without any."""
    found = position is not None
    return Bunch(
        row=row,
        rank=int(explanation.rank[position]) if found else None,
        label=explanation._label(row),
        status=str(explanation.status[row]),
        target=explanation.target[row],
        prediction_before=explanation.prediction_before[row],
        prediction=explanation.prediction[position] if found else None,
        cost=float(explanation.cost[position]) if found else None,
        blocking_rule=None if found else explanation._blocking_rule(row),
    )


def _ranges(explanation, features, reference):
    """Return the lowest and highest number of each of the features that has any."""
    containers = [explanation.queries, explanation.counterfactuals]
    if reference is not None:
        containers.append(reference)
    ranges = {}
    for container in containers:
        reader, rows = as_reader(container), np.arange(len(container))
        for column, name in enumerate(feature_names(container)):
            if str(name) not in features:
                continue
            values = list(filter(is_number, cells(reader, column, rows)))
            values += ranges.get(str(name), ())
            if values:
                ranges[str(name)] = (float(min(values)), float(max(values)))
    return ranges
