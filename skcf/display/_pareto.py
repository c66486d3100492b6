"""What more of something costs: probability of the target, or fewer shared features."""

import numpy as np

# Blue, vermilion, green, purple, orange: told apart without red and green as well.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
_GREY = "#808080"
_LABELS = {
    "threshold": "Least probability of the target",
    "score": "Probability of the target",
    "cost": "Cost",
    "max_features": "Most features that may change",
    "objective": "Objective",
}


class ParetoDisplay:
    """The cheapest cost for each demand, as a staircase.

    A point is the answer to one demand. The staircase joins those that are not
    dominated: no other point asks for at least as much and costs less. Filled points
    are proved to be the cheapest; a hollow one is the best that was found, with a line
    down to the bound that was proved. Demands that nothing meets are crosses at the
    top.

    It is recommended to use :meth:`from_sweep` to create a display.

    Parameters
    ----------
    x : array-like of shape (n_points,)
        The demands.

    cost : array-like of shape (n_points,)
        What the answers cost; nan where there is none.

    lower_bound : array-like of shape (n_points,), default=None
        What no answer costs less than; nan where nothing is proved.

    optimal : array-like of bool of shape (n_points,), default=None
        Which answers are proved to be the cheapest. None where nothing is told of it:
        all points are filled then.

    curve : list of str, default=None
        The name of the curve that each point belongs to.

    better : {"more", "less"}, default="more"
        Whether a larger demand is a harder one.

    x_label, cost_label : str
        What the axes are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the points.

    figure_ : matplotlib Figure
        Figure containing the axes.

    lines_ : list of matplotlib Line2D
        The staircase of each curve.

    points_ : list of matplotlib PathCollection
        The points of each curve, those without an answer left out.

    bounds_ : list of matplotlib LineCollection
        The lines from points to bounds, by curve.

    crosses_ : list of matplotlib PathCollection
        The demands without an answer, by curve.

    See Also
    --------
    skcf.tabular.OptimalExplainer.pareto : Cost against probability, for one row.

    Examples
    --------
    >>> from skcf.display import ParetoDisplay
    >>> sweep = {"threshold": [0.5, 0.7, 0.9], "cost": [0.1, 0.2, float("nan")]}
    >>> display = ParetoDisplay.from_sweep(sweep)
    >>> display.front
    array([ True,  True, False])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        x,
        cost,
        lower_bound=None,
        optimal=None,
        curve=None,
        better="more",
        x_label,
        cost_label,
    ):
        self.x = x
        self.cost = cost
        self.lower_bound = lower_bound
        self.optimal = optimal
        self.curve = curve
        self.better = better
        self.x_label = x_label
        self.cost_label = cost_label

    @classmethod
    def from_sweep(
        cls, sweep, *, x="threshold", cost="cost", curve=None, better="more"
    ):
        """Show a sweep over demands.

        Parameters
        ----------
        sweep : DataFrame or mapping of str to array-like
            With a row for each demand, such as what the method `pareto` of
            :class:`~skcf.tabular.OptimalExplainer` returns. The columns `lower_bound`
            and `optimal` are shown where there are any.

        x : str, default="threshold"
            The column with the demands: the probability that is asked for, or the
            number of features that a group may change.

        cost : str, default="cost"
            The column with what the answers cost; nan or None where there is none.

        curve : str, default=None
            The column that tells several curves apart, such as the rows or methods
            that were swept over.

        better : {"more", "less"}, default="more"
            Whether a larger demand is a harder one, as a probability is, or a smaller
            one, as a number of features is.

        Returns
        -------
        display : :class:`ParetoDisplay`
            The display, not yet drawn.

        Raises
        ------
        ValueError
            If a column is missing or `better` is another word.
        """
        columns = list(getattr(sweep, "columns", sweep))
        wanted = [x, cost] if curve is None else [x, cost, curve]
        for name in wanted:
            if name not in columns:
                raise ValueError(f"The sweep has no column {name!r}; it has {columns}.")
        if better not in ("more", "less"):
            raise ValueError(f"better must be 'more' or 'less', got {better!r}.")
        known = {
            name: np.asarray(sweep[name], dtype=float)
            for name in {x, cost, "lower_bound"} & set(columns)
        }
        optimal = None
        if "optimal" in columns:
            optimal = np.asarray(sweep["optimal"], dtype=bool)
        return cls(
            x=known[x],
            cost=known[cost],
            lower_bound=known.get("lower_bound"),
            optimal=optimal,
            curve=None if curve is None else [str(name) for name in sweep[curve]],
            better=better,
            x_label=_LABELS.get(x, x),
            cost_label=_LABELS.get(cost, cost),
        )

    @property
    def front(self):
        """Which points are not dominated by another one of their curve."""
        x, cost = (np.asarray(v, dtype=float) for v in (self.x, self.cost))
        harder = x if self.better == "more" else -x
        out = np.isfinite(cost)
        for at in self._curves().values():
            some = at[out[at]]
            h, c = harder[some], cost[some]
            as_good = (h[None, :] >= h[:, None]) & (c[None, :] <= c[:, None])
            real = (h[None, :] > h[:, None]) | (c[None, :] < c[:, None])
            out[some] = ~(as_good & real).any(axis=1)
        return out

    def plot(self, *, ax=None):
        """Draw the points and their staircases.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. By default a new figure is made.

        Returns
        -------
        display : :class:`ParetoDisplay`
            The display itself, with the attributes `ax_`, `figure_`, `lines_`,
            `points_`, `bounds_` and `crosses_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "ParetoDisplay.plot needs matplotlib. Install it with "
                '`pip install "skcf[plot]"`.'
            ) from error
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_, self.points_, self.bounds_, self.crosses_ = [], [], [], []
        for k, (name, at) in enumerate(self._curves().items()):
            self._draw(ax, name, at, _COLORS[k % len(_COLORS)])
        self._finish(ax)
        return self

    def _curves(self):
        """Return the positions of the points of each curve, by name."""
        if self.curve is None:
            return {None: np.arange(len(self.x))}
        names = np.asarray(self.curve)
        return {name: np.flatnonzero(names == name) for name in dict.fromkeys(names)}

    def _draw(self, ax, name, at, color):
        x, cost = (np.asarray(v, dtype=float)[at] for v in (self.x, self.cost))
        found = np.isfinite(cost)
        front = np.flatnonzero(self.front[at])
        front = front[np.argsort(x[front], kind="stable")]
        # At least so much is met by the next point to the right, at most so much by
        # the last one to the left.
        style = "steps-pre" if self.better == "more" else "steps-post"
        self.lines_ += ax.plot(
            x[front], cost[front], color=color, drawstyle=style, label=name, zorder=2
        )
        optimal = np.ones(len(at), dtype=bool)
        if self.optimal is not None:
            optimal = np.asarray(self.optimal, dtype=bool)[at]
        face = np.where(optimal[found], color, "white")
        self.points_.append(
            ax.scatter(x[found], cost[found], c=face, edgecolors=color, s=42, zorder=4)
        )
        low = np.full(len(at), np.nan)
        if self.lower_bound is not None:
            low = np.asarray(self.lower_bound, dtype=float)[at]
        open_ = found & ~optimal & np.isfinite(low)
        self.bounds_.append(
            ax.vlines(x[open_], low[open_], cost[open_], color=color, linewidth=1.2)
        )
        self.crosses_.append(
            ax.scatter(
                x[~found],
                np.full((~found).sum(), 0.97),
                marker="x",
                color=color,
                s=36,
                transform=ax.get_xaxis_transform(),
                zorder=4,
            )
        )

    def _finish(self, ax):
        """Name the axes and what the signs mean."""
        from matplotlib.lines import Line2D

        ax.set_xlabel(self.x_label)
        ax.set_ylabel(self.cost_label)
        cost, x = (np.asarray(v, dtype=float) for v in (self.cost, self.x))
        room = 0.05 * (np.ptp(x) or 1.0)
        ax.set_xlim(x.min() - room, x.max() + room)
        top = cost[np.isfinite(cost)].max(initial=0.0) or 1.0
        missing = ~np.isfinite(cost)
        ax.set_ylim(-0.04 * top, (1.18 if missing.any() else 1.08) * top)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.grid(color="#80808030", linewidth=0.8)
        ax.set_axisbelow(True)
        signs = []
        if self.optimal is not None:
            done = np.asarray(self.optimal, dtype=bool)
            if (done & ~missing).any():
                signs.append(("o", _GREY, "proved cheapest"))
            if (~done & ~missing).any():
                signs.append(("o", "white", "best found, and bound"))
        if missing.any():
            signs.append(("x", _GREY, "no answer"))
        handles = [] if self.curve is None else list(self.lines_)
        handles += [
            Line2D([], [], ls="", marker=m, mfc=face, mec=_GREY, label=text)
            for m, face, text in signs
        ]
        if handles:
            ax.legend(handles=handles, frameon=False, fontsize=9)
