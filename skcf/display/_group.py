"""Which rows of a group change which features, cluster by cluster."""

import numpy as np

from skcf._explanation._plain import counted, is_number

# In inches: a cell, the labels on the left, the texts on the right, the margins.
_CELL = (0.52, 0.26)
_LEFT, _RIGHT, _TOP, _BOTTOM = 1.1, 2.4, 1.1, 0.5
_LIMITS = (4.5, 11.0)
# Texts in cells are written where there is room for them.
_MAX_WRITTEN = (12, 40)
_UP, _DOWN, _OTHER = "#0072B2", "#D55E00", "#009E73"


class GroupDisplay:
    """Changes of the rows of a group, with the rows that share a counterfactual.

    A row of the picture is a row of the group, a column a feature that changes in some
    row. Blue cells rise and red ones fall, the fuller the larger the change is beside
    the largest of its feature; green cells take another category. Rows that share a
    counterfactual stand together, and next to them is what they have in common.

    It is recommended to use :meth:`from_explainer` or :meth:`from_explanation` to
    create a display.

    Parameters
    ----------
    changes : list of (int, str, object, object)
        The position of the row, the feature, and its value before and after, for each
        changed cell.

    labels : list of str
        What each row is called.

    assignment : array-like of int of shape (n_rows,)
        The number of the counterfactual that a row shares, -1 for a row without any.

    texts : dict of int to str
        What is written next to the rows of a counterfactual.

    n_hidden : int, default=0
        The number of rows that are left out.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the cells.

    figure_ : matplotlib Figure
        Figure containing the axes.

    image_ : matplotlib AxesImage
        The cells.

    rows_ : ndarray of shape (n_rows,)
        The positions of the rows, from top to bottom.

    features_ : list of str
        The features, from left to right: the one that changes most often first.

    See Also
    --------
    ChangesDisplay : Rows one by one, on the scales of their features.

    Examples
    --------
    >>> from skcf.display import GroupDisplay
    >>> display = GroupDisplay(
    ...     changes=[(0, "age", 30, 40), (1, "age", 35, 40), (1, "city", "a", "b")],
    ...     labels=["Ann", "Bob", "Cid"],
    ...     assignment=[0, 0, -1],
    ...     texts={0: "age to 40"},
    ... )
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(self, *, changes, labels, assignment, texts, n_hidden=0):
        self.changes = changes
        self.labels = labels
        self.assignment = assignment
        self.texts = texts
        self.n_hidden = n_hidden

    @classmethod
    def from_explainer(cls, explainer, X, *, target=None, max_rows=60):
        """Explain the rows of a group and show what changes.

        Parameters
        ----------
        explainer : object
            A fitted explainer.

        X : {ndarray, DataFrame} of shape (n_rows, n_features)
            The rows.

        target : object, default=None
            Passed on to the `explain` method of the explainer.

        max_rows : int, default=60
            The number of rows to show at most; a line says how many are left.

        Returns
        -------
        display : GroupDisplay
        """
        return cls.from_explanation(
            explainer.explain(X, target=target), max_rows=max_rows
        )

    @classmethod
    def from_explanation(cls, explanation, *, max_rows=60):
        """Show what changes in the rows of an explanation.

        Parameters
        ----------
        explanation : Explanation
            That of any explainer. Where its ``details`` have no `assignment`, no rows
            share a counterfactual. Of the counterfactuals of a row the first is shown.

        max_rows : int, default=60
            The number of rows to show at most; a line says how many are left.

        Returns
        -------
        display : GroupDisplay
        """
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, got {max_rows!r}.")
        n = len(explanation.status)
        first = np.flatnonzero(explanation.rank == 0)
        changes = [
            (row, name, before, after)
            for row, _, name, before, after in explanation._iter_changes(first)
        ]
        found = np.full(n, -1)
        found[explanation.row[first]] = 0
        given = explanation.details.get("assignment")
        assignment = found if given is None else np.where(found < 0, -1, given)
        # Those without a counterfactual come last.
        order = np.lexsort((np.arange(n), assignment, assignment < 0))
        shown = set(order[:max_rows].tolist())
        labels = [str(explanation._label(i)) for i in range(n)]
        return cls(
            changes=[change for change in changes if change[0] in shown],
            labels=labels,
            assignment=[
                int(a) if i in shown else None for i, a in enumerate(assignment)
            ],
            texts=_texts(explanation, given, changes),
            n_hidden=n - len(shown),
        )

    def plot(self, *, ax=None):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure of the right size if None.

        Returns
        -------
        display : GroupDisplay
        """
        import matplotlib.pyplot as plt

        shown = [i for i, a in enumerate(self.assignment) if a is not None]
        self.rows_ = np.array(
            sorted(
                shown, key=lambda i: (self.assignment[i] < 0, self.assignment[i], i)
            ),
            dtype=np.intp,
        )
        self.features_ = _by_frequency(self.changes)
        if ax is None:
            width = _LEFT + _RIGHT + _CELL[0] * max(len(self.features_), 3)
            height = _TOP + _BOTTOM + _CELL[1] * max(len(self.rows_), 3)
            width = float(np.clip(width, *_LIMITS))
            figure = plt.figure(figsize=(width, height))
            ax = figure.add_axes(
                (
                    _LEFT / width,
                    _BOTTOM / height,
                    1 - (_LEFT + _RIGHT) / width,
                    1 - (_TOP + _BOTTOM) / height,
                )
            )
        self.ax_, self.figure_ = ax, ax.figure
        self._draw_cells()
        self._draw_axes()
        self._draw_clusters()
        return self

    def _draw_cells(self):
        shape = (len(self.rows_), max(len(self.features_), 1))
        place = {int(row): at for at, row in enumerate(self.rows_)}
        column = {name: at for at, name in enumerate(self.features_)}
        cells = np.ones((*shape, 4))
        written = shape[1] <= _MAX_WRITTEN[0] and shape[0] <= _MAX_WRITTEN[1]
        for change, color in zip(self.changes, self._colors(), strict=True):
            row, name, _, after = change
            at = place[row], column[name]
            cells[at] = color
            if written:
                dark = np.mean(color[:3]) < 0.55
                self.ax_.text(
                    at[1],
                    at[0],
                    _short(after),
                    ha="center",
                    va="center",
                    fontsize="x-small",
                    color="white" if dark else "black",
                )
        self.image_ = self.ax_.imshow(cells, aspect="auto", interpolation="nearest")

    def _colors(self):
        """Return the color of each changed cell."""
        from matplotlib.colors import to_rgba

        size, steps = {}, []
        for _, name, before, after in self.changes:
            number = is_number(before) and is_number(after)
            step = float(after) - float(before) if number else None
            steps.append(step)
            if number:
                size[name] = max(size.get(name, 0.0), abs(step))
        colors = []
        for (_, name, _, _), step in zip(self.changes, steps, strict=True):
            full = np.array(
                to_rgba(_OTHER if step is None else _UP if step > 0 else _DOWN)
            )
            share = 0.75 if step is None else 0.25 + 0.75 * abs(step) / size[name]
            colors.append(1.0 - share * (1.0 - full))
        for color in colors:
            color[3] = 1.0
        return colors

    def _draw_axes(self):
        ax, n, p = self.ax_, len(self.rows_), len(self.features_)
        ax.set_xticks(
            range(p), self.features_, rotation=40, ha="left", fontsize="small"
        )
        ax.set_yticks(range(n), [self.labels[i] for i in self.rows_], fontsize="small")
        ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
        ax.set_xticks(np.arange(p + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(n + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="0.88", linewidth=0.6)
        ax.tick_params(which="minor", length=0)
        for side in ax.spines.values():
            side.set_visible(False)
        if self.n_hidden:
            text = f"{counted(self.n_hidden, 'more row', 'more rows')} not shown"
            ax.set_xlabel(text, fontsize="small", color="0.4", loc="left")

    def _draw_clusters(self):
        """Part the rows of different counterfactuals, and write what they share."""
        ax, at = self.ax_, 0
        taken = np.array([self.assignment[i] for i in self.rows_])
        while at < len(taken):
            end = at + int((taken[at:] == taken[at]).argmin() or len(taken) - at)
            if at:
                ax.axhline(at - 0.5, color="0.3", linewidth=1.0)
            text = self.texts.get(int(taken[at]), "")
            if taken[at] < 0:
                text = "no counterfactual"
            ax.text(
                1.02,
                (at + end - 1) / 2,
                text,
                transform=ax.get_yaxis_transform(),
                va="center",
                fontsize="small",
                color="0.4" if taken[at] < 0 else "black",
            )
            at = end


def _texts(explanation, assignment, changes):
    """Return what is written next to the rows of each counterfactual."""
    if assignment is None:
        return {}
    told = explanation.details.get("changes")
    out = {}
    for c in sorted({int(a) for a in assignment if a >= 0}):
        n = int((np.asarray(assignment) == c).sum())
        lines = [f"{counted(n, 'row', 'rows')}"]
        if told is not None:
            lines += [f"{name} to {_short(value)}" for name, value in told[c].items()]
        else:
            names = {name for row, name, _, _ in changes if assignment[row] == c}
            lines.append(counted(len(names), "feature", "features"))
        out[c] = "\n".join(lines[: n + 1] if n > 1 else [", ".join(lines)])
    return out


def _by_frequency(changes):
    """Return the names of the features that change, the most frequent one first."""
    count = {}
    for _, name, _, _ in changes:
        count[name] = count.get(name, 0) + 1
    return sorted(count, key=lambda name: -count[name])


def _short(value, most=8):
    """Return a value in a few characters."""
    if value is None:
        return "missing"
    text = (
        f"{value:.3g}"
        if is_number(value) and not isinstance(value, int)
        else str(value)
    )
    return text if len(text) <= most else text[: most - 1] + "…"
