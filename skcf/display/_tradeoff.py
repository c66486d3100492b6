"""Explainers side by side: how valid, how near and how fast their answers are."""

import numpy as np

# In points.
_SIZE = 13.0
_GAP = 4.0

# The fill lets a disk below another one show.
_EDGE = "#0072B2"
_FILL = "#0072B2C8"
_EMPTY = "#0072B230"
_GREY = "#808080"

# Where a label goes next to its disk, best first: the horizontal side, and how many
# lines above it. From two lines on, a thin line leads to it.
_PLACES = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)]
_PLACES += [(side, lines) for lines in range(2, 9) for side in (0, 1, -1)]
_LINE = 13.0

_LABELS = {
    "gower": "Gower distance (mean)",
    "mace": "MACE distance (mean)",
    "geco": "GeCo distance (mean)",
    "sparsity": "Changed features (mean)",
    "seconds": "Time (seconds)",
    "n_calls": "Model calls",
    "n_rows": "Rows given to the model",
}


class TradeoffDisplay:
    """Validity, cost and time of several explainers.

    Each explainer is a disk, further to the left the faster and lower the nearer its
    answers are. The filled share of the disk is the share of rows with a valid answer,
    which is also written next to its name. An explainer without any answer has no cost:
    its disk is empty and lies at the top.

    It is recommended to use :meth:`from_comparison` to create a display.

    Parameters
    ----------
    methods : list of str
        The names of the explainers.

    validity : array-like of shape (n_methods,)
        The share of rows with a valid answer, from 0 to 1.

    cost : array-like of shape (n_methods,)
        The mean cost of the answers; nan where there are none.

    time : array-like of shape (n_methods,)
        What the answers took, all positive.

    cost_label, time_label : str
        What the axes are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the disks.

    figure_ : matplotlib Figure
        Figure containing the axes.

    points_ : list of matplotlib Line2D
        One disk for each explainer.

    wedges_ : list of matplotlib Line2D
        The filled share of each disk; None where it is empty.

    texts_ : list of matplotlib Text
        One label for each explainer.

    See Also
    --------
    skcf.metrics.compare : The table behind it.

    Examples
    --------
    >>> from skcf.display import TradeoffDisplay
    >>> comparison = {
    ...     "method": ["slow", "fast"],
    ...     "validity": [1.0, 0.5],
    ...     "gower": [0.1, 0.3],
    ...     "seconds": [20.0, 0.2],
    ... }
    >>> display = TradeoffDisplay.from_comparison(comparison)
    >>> display.cost
    array([0.1, 0.3])
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(self, *, methods, validity, cost, time, cost_label, time_label):
        self.methods = methods
        self.validity = validity
        self.cost = cost
        self.time = time
        self.cost_label = cost_label
        self.time_label = time_label

    @classmethod
    def from_comparison(cls, comparison, *, cost="gower", time="seconds"):
        """Show a comparison.

        Parameters
        ----------
        comparison : DataFrame or mapping of str to array-like
            What :func:`skcf.metrics.compare` returns.

        cost : str, default="gower"
            The column with the cost of answers: "gower", "mace", "geco", "sparsity",
            or any other of which less is better.

        time : str, default="seconds"
            The column with what they took: "seconds", "n_calls", "n_rows".

        Returns
        -------
        display : :class:`TradeoffDisplay`
            The display, not yet drawn.

        Raises
        ------
        ValueError
            If a column is missing.
        """
        columns = list(getattr(comparison, "columns", comparison))
        for name in ("method", "validity", cost, time):
            if name not in columns:
                raise ValueError(
                    f"The comparison has no column {name!r}; it has {columns}."
                )
        validity, costs, times = (
            np.asarray(comparison[name], dtype=float)
            for name in ("validity", cost, time)
        )
        return cls(
            methods=[str(name) for name in comparison["method"]],
            validity=validity,
            cost=costs,
            time=times,
            cost_label=_LABELS.get(cost, cost),
            time_label=_LABELS.get(time, time),
        )

    def plot(self, *, ax=None):
        """Draw the explainers.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw in. By default a new figure is made.

        Returns
        -------
        display : :class:`TradeoffDisplay`
            The display itself, with the attributes `ax_`, `figure_`, `points_`,
            `wedges_` and `texts_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "TradeoffDisplay.plot needs matplotlib. Install it with "
                '`pip install "skcf[plot]"`.'
            ) from error
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        x, y = self._set_axes(ax)
        self.points_, self.wedges_ = [], []
        for place in zip(x, y, self.validity, strict=True):
            self._disk(ax, *place)
        # The places of labels depend on the final size of the axes.
        self.figure_.draw_without_rendering()
        self.texts_ = _label(ax, x, y, self._names())
        return self

    def _names(self):
        shares = (f"{100 * v:.3g} %" for v in self.validity)
        pairs = zip(self.methods, shares, strict=True)
        return [f"{name}, {share} valid" for name, share in pairs]

    def _set_axes(self, ax):
        """Set scales, limits and names, and return where the disks are."""
        from matplotlib.ticker import LogLocator, NullLocator

        x = np.maximum(np.asarray(self.time, dtype=float), 1e-9)
        cost = np.asarray(self.cost, dtype=float)
        known = np.isfinite(cost)
        top = cost[known].max(initial=0.0) or 1.0
        y = np.where(known, cost, 1.15 * top)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter("{x:g}")
        spread = max(x.max() / x.min(), 2.0) ** 0.12
        # Room for a label next to the last disk on either side.
        ax.set_xlim(x.min() / spread / 1.3, x.max() * spread * 1.3)
        ax.set_ylim(-0.08 * top, (1.15 if known.all() else 1.3) * top)
        ax.set_xlabel(self.time_label)
        ax.set_ylabel(self.cost_label)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.grid(color="#80808030", linewidth=0.8)
        ax.set_axisbelow(True)
        if not known.all():
            ax.axhline(1.075 * top, color=_GREY, linewidth=0.8, linestyle=":")
            ax.annotate(
                "no answers, no cost",
                (1, 1.08 * top),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                fontsize=8,
                color=_GREY,
            )
        return x, y

    def _disk(self, ax, x, y, share):
        """Draw a disk of which a share is filled, clockwise from the top."""
        from matplotlib.path import Path

        (ring,) = ax.plot(
            x,
            y,
            marker="o",
            markersize=_SIZE,
            markerfacecolor=_EMPTY,
            markeredgecolor=_EDGE,
            clip_on=False,
            zorder=3,
        )
        self.points_.append(ring)
        self.wedges_.append(None)
        if share <= 0:
            return
        if share < 1:
            wedge = Path.wedge(90 - 360 * share, 90)
            # Markers are scaled by their own extent: as a share of the disk's here.
            size = _SIZE * np.abs(wedge.vertices).max()
        else:
            wedge, size = "o", _SIZE
        (self.wedges_[-1],) = ax.plot(
            x,
            y,
            marker=wedge,
            markersize=size,
            markerfacecolor=_FILL,
            markeredgewidth=0,
            clip_on=False,
            zorder=4,
        )


def _label(ax, x, y, names):
    """Write names next to disks, where they cover neither disks nor one another."""
    pixels = ax.figure.dpi / 72
    centres = ax.transData.transform(np.column_stack([x, y]))
    radius = _SIZE / 2 * pixels
    taken = [(cx - radius, cy - radius, cx + radius, cy + radius) for cx, cy in centres]
    frame = ax.get_window_extent()
    texts = []
    for k, name in enumerate(names):
        best = None
        for place in _PLACES:
            text = _write(ax, (x[k], y[k]), name, place)
            boxes = [_box(text)]
            if place[1] > 1:
                middle, top = centres[k, 0], centres[k, 1] + radius
                boxes.append((middle - 1, top, middle + 1, boxes[0][1]))
            over = sum(_overlap(box, other) for box in boxes for other in taken)
            over += _outside(boxes[0], frame)
            if best is None or over < best[0]:
                if best is not None:
                    best[1].remove()
                best = over, text, boxes
            else:
                text.remove()
            if over == 0:
                break
        taken += best[2]
        texts.append(best[1])
    return texts


def _write(ax, at, name, place):
    """Write a name some lines above (or below) a disk, to one side of it."""
    side, lines = place
    gap = _SIZE / 2 + _GAP
    height = np.sign(lines) * gap + (lines - np.sign(lines)) * _LINE
    leader = {"arrowstyle": "-", "color": _GREY, "linewidth": 0.6, "shrinkB": 6}
    return ax.annotate(
        name,
        at,
        xytext=(gap * side, height),
        textcoords="offset points",
        ha={1: "left", 0: "center", -1: "right"}[side],
        va={1: "bottom", 0: "center", -1: "top"}[int(np.sign(lines))],
        fontsize=9,
        parse_math=False,
        arrowprops=leader if lines > 1 else None,
        zorder=5,
    )


def _box(text):
    """Return the box of the words of an annotation, without the line to its disk."""
    from matplotlib.text import Text

    text.get_window_extent()  # Puts the words in their place.
    return tuple(Text.get_window_extent(text).extents)


def _outside(box, frame):
    """Return the area of a box (x0, y0, x1, y1) that is outside of a frame."""
    inside = _overlap(box, (frame.x0, frame.y0, frame.x1, frame.y1))
    return (box[2] - box[0]) * (box[3] - box[1]) - inside


def _overlap(one, other):
    """Return the area that two boxes (x0, y0, x1, y1) share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, width) * max(0.0, height)
