"""Units, their targets and the frontier of a technology."""

import numpy as np

from skcf._explanation._cells import column_of, feature_names, frame_module, frame_of
from skcf._explanation._plain import format_value
from skcf.display._plane import plane_of, short

# Colours of Okabe and Ito, as in the other displays: up, down, and what stays.
_UP = "#D55E00"
_DOWN = "#0072B2"
_PALE_UP = "#F9DCC8"
_PALE_DOWN = "#CCE1EE"
_TARGET = "#009E73"
_GREY = "#808080"
_MARGIN = 1.12


class FrontierDisplay:
    """Units and targets with the frontier, and which columns change.

    `plot` draws the plane of two inputs at the outputs of a unit, or of two outputs at
    its inputs: the frontier, the curve of the wanted efficiency, the unit, its targets
    and its radial projection. `plot_changes` draws a map of all units with what
    changes, in shares of what they have. `summary` has the numbers.

    It is recommended to use :meth:`from_explainer` or :meth:`from_explanation` to
    create a display.

    Parameters
    ----------
    changes : ndarray of shape (n_units, n_columns)
        The relative changes; NaN in units without a target.

    labels : list
        The labels of the units.

    columns : list of str
        The names of the columns.

    status : list of str
        What became of each unit.

    frontier : :class:`~sklearn.utils.Bunch` or str
        What `plot` draws: `columns` (two names), `curves` (a dict of efficiency to an
        ndarray of shape (n_points, 2)), `wanted`, `label`, `unit`, `farrell` and
        `targets` (points), `peers` (a list of label and point), `below` (whether
        the plans of more efficiency are below the curve) and `shaded` (whether all
        plans there are). Or the reason why there is nothing to draw.

    module : module, default=None
        The library of the frames that `summary` returns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the last picture.

    figure_ : matplotlib Figure
        Figure containing the axes.

    See Also
    --------
    skcf.dea.DEATargetExplainer : Finds the targets.
    ChangesDisplay : Changes of each unit, before and after.

    Examples
    --------
    >>> import numpy as np
    >>> from skcf.dea import DEATargetExplainer
    >>> from skcf.display import FrontierDisplay
    >>> firms = np.array([[0.5, 1, 1], [1.5, 0.5, 1], [1.75, 1.25, 1], [2.5, 1.25, 1]])
    >>> explainer = DEATargetExplainer(inputs=[0, 1], outputs=[2], efficiency=0.8)
    >>> display = FrontierDisplay.from_explainer(explainer.fit(firms), firms, row=3)
    >>> display.frontier.targets
    array([[2.5  , 0.625]])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(self, *, changes, labels, columns, status, frontier, module=None):
        self.changes = changes
        self.labels = labels
        self.columns = columns
        self.status = status
        self.frontier = frontier
        self.module = module

    @classmethod
    def from_explainer(
        cls, explainer, X, *, target=None, n_counterfactuals=1, row=None
    ):
        """Explain units and show their targets.

        Parameters
        ----------
        explainer : DEATargetExplainer
            A fitted explainer.

        X : {ndarray, DataFrame} of shape (n_units, n_features)
            The units.

        target : float or array-like of shape (n_units,), default=None
            Passed on to the `explain` method of the explainer.

        n_counterfactuals : int, default=1
            The number of targets of a unit to show at most.

        row : int, default=None
            The position of the unit that `plot` shows; by default the first with a
            target.

        Returns
        -------
        display : FrontierDisplay
        """
        explanation = explainer.explain(
            X, target=target, n_counterfactuals=n_counterfactuals
        )
        return cls.from_explanation(explanation, explainer, row=row)

    @classmethod
    def from_explanation(cls, explanation, explainer, *, row=None):
        """Show targets that are known.

        Parameters
        ----------
        explanation : Explanation
            What `explainer` found.

        explainer : DEATargetExplainer
            The fitted explainer, which has the technology.

        row : int, default=None
            The position of the unit that `plot` shows; by default the first with a
            target.

        Returns
        -------
        display : FrontierDisplay
        """
        n = len(explanation.status)
        if row is not None and not 0 <= row < n:
            raise ValueError(f"row must be a position of the {n} units, got {row!r}.")
        if row is None:
            row = int(explanation.row[0]) if len(explanation.row) else 0
        space, free = explainer._space, explainer._free
        before = space.encode(explanation.queries, check_missing=False)[:, space.plan]
        after = space.encode(explanation.counterfactuals)[:, space.plan]
        first = np.flatnonzero(explanation.rank == 0)
        unit = np.where(before > 0, before, explainer.dea_._technology.scale)
        changes = np.full(before.shape, np.nan)
        at = explanation.row[first]
        changes[at] = (after[first] - before[at]) / unit[at]
        named = feature_names(explanation.queries)
        names = [str(named[j]) for j in space.plan]
        try:
            module = frame_module(explanation.queries)
        except ImportError:
            module = None
        return cls(
            changes=changes[:, free],
            labels=[explanation._label(i) for i in range(n)],
            columns=[name for name, f in zip(names, free, strict=True) if f],
            status=explanation.status.tolist(),
            frontier=plane_of(explanation, explainer, row, before[row], after, names),
            module=module,
        )

    def plot(self, *, ax=None):
        """Draw the plane of two inputs, or of two outputs, of one unit.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. By default a new figure is made.

        Returns
        -------
        display : FrontierDisplay
            The display itself, with the attributes `ax_` and `figure_`.

        Raises
        ------
        ValueError
            If the columns that may change are not two inputs or two outputs.

        ImportError
            If matplotlib is not installed.
        """
        if isinstance(self.frontier, str):
            raise ValueError(f"There is no plane to draw: {self.frontier}.")
        ax = self._axes(ax, (5.4, 4.6))
        data = self.frontier
        points = [data.unit, data.farrell, data.targets, *(p for _, p in data.peers)]
        if not data.below:
            points.extend(data.curves.values())
        ends = _MARGIN * np.vstack(points).max(axis=0)
        self._draw_curves(ax, data, ends)
        ax.plot(*_line(data.unit, data.farrell), ":", color=_GREY, linewidth=1)
        ax.plot(*data.farrell, "s", color=_GREY, label="radial projection")
        for i, target in enumerate(data.targets):
            arrow = {"arrowstyle": "->", "color": _TARGET, "linewidth": 1.4}
            ax.annotate("", target, data.unit, arrowprops={**arrow, "shrinkA": 4})
            label = "target" if len(data.targets) == 1 else f"target {i + 1}"
            marker = "o^Dv"[i % 4]
            ax.plot(*target, marker, color=_TARGET, label=label)
        ax.plot(*data.unit, "X", color=_UP, markersize=9, label=data.label)
        for label, point in data.peers:
            ax.plot(*point, "o", color="black", markersize=4)
            ax.annotate(
                label, point, (5, 5), textcoords="offset points", parse_math=False
            )
        ax.set(xlim=(0, ends[0]), ylim=(0, ends[1]))
        ax.set_xlabel(data.columns[0], parse_math=False)
        ax.set_ylabel(data.columns[1], parse_math=False)
        ax.legend(frameon=False, fontsize="small", loc="best")
        return self

    def _draw_curves(self, ax, data, ends):
        """Draw the frontier and the curve of the wanted efficiency, and shade."""
        for level, curve in data.curves.items():
            style, label = {"color": "black", "linewidth": 1.8}, "frontier"
            if level != 1:
                style = {"color": _TARGET, "linewidth": 1.2, "linestyle": "--"}
                label = f"efficiency {format_value(level)}"
            ax.plot(*curve.T, label=label, **style)
        if not data.shaded:
            return
        edge = data.curves[data.wanted]
        corner = np.zeros(2) if data.below else 9 * ends
        first, last = edge[0], edge[-1]
        sides = [[last[0], corner[1]], corner, [corner[0], first[1]]]
        if data.below:
            sides = [[0, last[1]], corner, [first[0], 0]]
        ax.fill(*np.vstack([edge, sides]).T, color=_TARGET, alpha=0.08, linewidth=0)

    def plot_changes(self, *, ax=None, limit=None):
        """Draw a map of what changes in which unit.

        Units without a target, and those that need none, are grey.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. By default a new figure is made.

        limit : float, default=None
            The relative change at which colours end; by default the largest.

        Returns
        -------
        display : FrontierDisplay
            The display itself, with the attributes `ax_` and `figure_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n_units, n_columns = self.changes.shape
        ax = self._axes(ax, (1.6 + 0.8 * n_columns, min(9.0, 2.0 + 0.16 * n_units)))
        from matplotlib.colors import LinearSegmentedColormap

        # The smallest change is told apart from none.
        tints = [(0, _DOWN), (0.498, _PALE_DOWN), (0.5, "white")]
        tints += [(0.502, _PALE_UP), (1, _UP)]
        colors = LinearSegmentedColormap.from_list("changes", tints, N=513)
        colors = colors.with_extremes(bad="#E8E8E8")
        size = np.abs(np.nan_to_num(self.changes)).max(initial=0.0)
        size = limit or size or 1.0
        image = ax.imshow(
            np.ma.masked_invalid(self.changes),
            cmap=colors,
            vmin=-size,
            vmax=size,
            aspect="auto",
            interpolation="nearest",
        )
        ax.set_xticks(range(n_columns), self.columns, rotation=30, ha="right")
        if n_units <= 40:
            texts = list(map(short, self.labels))
            ax.set_yticks(range(n_units), texts, fontsize="small")
        for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
            text.set_parse_math(False)
        ax.set_ylabel("unit")
        bar = ax.figure.colorbar(image, ax=ax, format=_percent)
        bar.set_label("relative change")
        return self

    def summary(self):
        """Return how often, and by how much, each column changes.

        Returns
        -------
        frame : DataFrame of shape (n_columns + 1, 3)
            The columns `feature`; `frequency`, the share of the units with a target
            that change it; and `relative_change`, the mean of its relative changes
            where it changes, without sign. The last row, "all", has the mean number of
            changes of a unit and the mean norm of its relative changes. In the library
            of the units, that of arrays being pandas or polars.

        Raises
        ------
        ImportError
            If the units are an array and neither pandas nor polars is installed.
        """
        module = frame_module(np.empty((0, 0))) if self.module is None else self.module
        found = np.abs(self.changes[~np.isnan(self.changes).any(axis=1)])
        moved = found > 0
        n = max(len(found), 1)
        mean = found.sum(axis=0) / np.maximum(moved.sum(axis=0), 1)
        norm = np.linalg.norm(found, axis=1).sum() / n
        names = np.array([*self.columns, "all"], dtype=object)
        return frame_of(
            [
                column_of("feature", names, module),
                column_of(
                    "frequency", np.r_[moved.sum(axis=0), moved.sum()] / n, module
                ),
                column_of("relative_change", np.r_[mean, norm], module),
            ]
        )

    def _axes(self, ax, size):
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "FrontierDisplay needs matplotlib. Install it with "
                '`pip install "skcf[plot]"`.'
            ) from error
        if ax is None:
            ax = plt.subplots(figsize=size, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def _percent(value, position):
    return f"{100 * value:.0f} %"


def _line(start, end):
    return np.column_stack([start, end])
