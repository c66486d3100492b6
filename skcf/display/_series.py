"""A series, its counterfactual and what that is made of, over time."""

import numpy as np
from sklearn.utils import Bunch

from skcf._explanation._cells import as_reader
from skcf._explanation._plain import format_label, format_value

# Colours of Okabe and Ito, told apart with any colour vision.
_QUERY = "#303030"
_FOUND = "#D55E00"
_SOURCES = ("#0072B2", "#009E73", "#CC79A7", "#56B4E9")
_SHADE = "#E69F0030"
_PATH = "#80808090"
# In inches: the width of a figure, the height of a channel, and of the rest.
_WIDTH, _HEIGHT, _REST = 7.0, 1.5, 1.3


class SeriesDisplay:
    """A series with its counterfactual, prototypes and changed stretches.

    Each channel has axes of its own. The query, the counterfactual and the training
    series that it is made of are drawn over time. The times with most of the squared
    change are shaded, and lines show which times a warping path joins.

    It is recommended to use :meth:`from_explainer` or :meth:`from_explanation` to
    create a display.

    Parameters
    ----------
    query, counterfactual : ndarray of shape (n_times, n_channels)
        The series before and after.

    sources : list of (str, ndarray of shape (n_times, n_channels))
        Name and values of the training series that the counterfactual is made of.

    path : ndarray of shape (n_pairs, 2), default=None
        Times of the query and of the counterfactual that are compared.

    channels : list of int, default=None
        The channels to draw, all by default.

    names : list of str, default=None
        The names of all channels.

    title : str, default=""
        What is written above.

    share : float, default=0.9
        The share of the squared change that the shaded times have at least.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the first channel drawn.

    axes_ : list of matplotlib Axes
        The axes of all channels drawn.

    figure_ : matplotlib Figure
        Figure containing the axes.

    lines_ : list of Bunch of matplotlib Line2D
        For each channel, its lines `query`, `counterfactual` and `sources` (a list).

    spans_ : list of list of (int, int)
        For each channel, the first and the last time of each shaded stretch.

    Examples
    --------
    >>> import numpy as np
    >>> from skcf.display import SeriesDisplay
    >>> display = SeriesDisplay(
    ...     query=np.zeros((4, 1)),
    ...     counterfactual=np.array([[0.0], [0.0], [1.0], [0.0]]),
    ...     sources=[],
    ... )
    >>> display.stretches(0)
    [(2, 2)]
    >>> display.plot()  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        query,
        counterfactual,
        sources,
        path=None,
        channels=None,
        names=None,
        title="",
        share=0.9,
    ):
        self.query = query
        self.counterfactual = counterfactual
        self.sources = sources
        self.path = path
        self.channels = channels
        self.names = names
        self.title = title
        self.share = share

    @classmethod
    def from_explainer(
        cls,
        explainer,
        X,
        *,
        row=0,
        target=None,
        channels=None,
        max_channels=6,
        names=None,
        share=0.9,
    ):
        """Explain some series and show one of them.

        Parameters
        ----------
        explainer : object
            A fitted explainer of series.

        X : {ndarray, DataFrame} of the shape given to `fit`
            The series to explain.

        row : int, default=0
            The position of the series to show.

        target : object, default=None
            Passed on to the `explain` method of the explainer.

        channels : list of int, default=None
            The channels to draw; by default those that change, the most changed first
            to be kept.

        max_channels : int, default=6
            The number of channels to draw at most, unless `channels` names them.

        names : list of str, default=None
            The names of all channels.

        share : float, default=0.9
            The share of the squared change that the shaded times have at least.

        Returns
        -------
        display : :class:`SeriesDisplay`
            The display, not yet drawn.
        """
        return cls.from_explanation(
            explainer.explain(X, target=target),
            row=row,
            training=explainer._space.emit_plain(explainer._train),
            channel_axis=explainer.channel_axis,
            channels=channels,
            max_channels=max_channels,
            names=names,
            share=share,
        )

    @classmethod
    def from_explanation(
        cls,
        explanation,
        *,
        row=0,
        rank=0,
        training=None,
        channel_axis=2,
        channels=None,
        max_channels=6,
        names=None,
        share=0.9,
    ):
        """Show one counterfactual of an explanation.

        Parameters
        ----------
        explanation : :class:`~skcf.Explanation`
            What an explainer of series found.

        row : int, default=0
            The position of the query.

        rank : int, default=0
            Which of its counterfactuals to show.

        training : {ndarray, DataFrame}, default=None
            The training series given to `fit`, to draw those that the counterfactual is
            made of.

        channel_axis : {1, 2}, default=2
            Which axis of three holds the channels.

        channels : list of int, default=None
            The channels to draw; by default those that change, the most changed first
            to be kept.

        max_channels : int, default=6
            The number of channels to draw at most, unless `channels` names them.

        names : list of str, default=None
            The names of all channels.

        share : float, default=0.9
            The share of the squared change that the shaded times have at least.

        Returns
        -------
        display : :class:`SeriesDisplay`
            The display, not yet drawn.

        Raises
        ------
        ValueError
            If the query has no such counterfactual.
        """
        at = np.flatnonzero((explanation.row == row) & (explanation.rank == rank))
        if not len(at):
            n = len(explanation.status)
            told = f"is {explanation.status[row]!r}" if 0 <= row < n else "is unknown"
            raise ValueError(
                f"There is no counterfactual of rank {rank} of query {row}: it {told}."
            )
        at = int(at[0])
        query = _series(explanation.queries, channel_axis, row)
        found = _series(explanation.counterfactuals, channel_axis, at)
        if channels is None:
            change = ((found - query) ** 2).sum(axis=0)
            most = np.argsort(-change, kind="stable")[:max_channels]
            channels = sorted(j for j in most.tolist() if change[j] > 0)
        path = explanation.details.get("path")
        return cls(
            query=query,
            counterfactual=found,
            sources=_sources(explanation.details, at, training, channel_axis),
            path=None if path is None else path[at],
            channels=channels,
            names=names,
            title=_title(explanation, row, at),
            share=share,
        )

    def stretches(self, channel):
        """Return the stretches of a channel with most of the squared change.

        Parameters
        ----------
        channel : int

        Returns
        -------
        stretches : list of (int, int)
            The first and the last time of each: of all times and channels, the fewest
            that together have the share of the squared change that is asked for.
        """
        change = (self.counterfactual - self.query) ** 2
        order = np.argsort(-change, axis=None, kind="stable")
        total = np.cumsum(change.ravel()[order])
        n = int(np.searchsorted(total, self.share * total[-1] * (1 - 1e-12))) + 1
        chosen = np.zeros(change.size, dtype=bool)
        chosen[order[:n]] = True
        chosen = (chosen.reshape(change.shape) & (change > 0))[:, channel]
        ends = np.flatnonzero(np.diff(np.concatenate([[0], chosen, [0]])))
        return [(int(a), int(b) - 1) for a, b in ends.reshape(-1, 2)]

    def plot(self, *, ax=None):
        """Draw the series.

        Parameters
        ----------
        ax : matplotlib Axes or list of them, default=None
            Axes to draw in, one for each channel. By default a new figure is made.

        Returns
        -------
        display : :class:`SeriesDisplay`
            The display itself, with the attributes `ax_`, `axes_`, `figure_`, `lines_`
            and `spans_`.

        Raises
        ------
        ImportError
            If matplotlib is not installed.

        ValueError
            If there are not as many axes as channels.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                "SeriesDisplay.plot needs matplotlib. Install it with "
                '`pip install "skcf[plot]"`.'
            ) from error
        shown = self.channels
        if shown is None:
            shown = list(range(self.query.shape[1]))
        if ax is None:
            height = _REST + _HEIGHT * len(shown) * (1.6 if len(shown) == 1 else 1)
            _, ax = plt.subplots(
                len(shown), 1, sharex=True, squeeze=False, layout="constrained",
                figsize=(_WIDTH, height),
            )  # fmt: skip
        self.axes_ = list(np.ravel(ax))
        if len(self.axes_) != len(shown):
            raise ValueError(f"{len(shown)} channels need as many axes, got {ax!r}.")
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        self.lines_, self.spans_ = [], []
        for axes, channel in zip(self.axes_, shown, strict=True):
            self._draw(axes, channel, len(shown) > 1 or self.query.shape[1] > 1)
        self.axes_[-1].set_xlabel("time")
        self.ax_.set_title(self.title, fontsize="medium", loc="left", parse_math=False)
        where = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
        self.ax_.legend(**where, frameon=False, fontsize="small")
        return self

    def _draw(self, axes, channel, named):
        time = np.arange(len(self.query))
        before, after = self.query[:, channel], self.counterfactual[:, channel]
        spans = self.stretches(channel)
        for begin, end in spans:
            axes.axvspan(begin - 0.5, end + 0.5, color=_SHADE, linewidth=0, zorder=0)
        if self.path is not None and (self.path[:, 0] != self.path[:, 1]).any():
            i, k = self.path.T
            axes.plot(
                np.stack([i, k]), np.stack([before[i], after[k]]), color=_PATH,
                linewidth=0.7, zorder=1,
            )  # fmt: skip
        sources = [
            axes.plot(
                time, values[:, channel], color=_SOURCES[n % len(_SOURCES)],
                linewidth=1.1, linestyle="--", label=name, zorder=2,
            )[0]
            for n, (name, values) in enumerate(self.sources)
        ]  # fmt: skip
        (query,) = axes.plot(
            time, before, color=_QUERY, linewidth=1.4, label="query", zorder=3
        )
        (found,) = axes.plot(
            time, after, color=_FOUND, linewidth=2.0, label="counterfactual", zorder=4
        )
        if named:
            name = f"channel {channel}" if self.names is None else self.names[channel]
            axes.set_ylabel(name, fontsize="small", parse_math=False)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.margins(x=0.01)
        self.lines_.append(Bunch(query=query, counterfactual=found, sources=sources))
        self.spans_.append(spans)


def _series(container, channel_axis, at):
    """Return one series of a container as (n_times, n_channels) floats."""
    if isinstance(container, np.ndarray) and container.ndim == 3:
        series = container[at].astype(np.float64)
        return series if channel_axis == 2 else series.T
    reader = as_reader(container)
    row = reader[at] if isinstance(reader, np.ndarray) else reader.row(at)
    return np.array(row, dtype=np.float64)[:, None]


def _sources(details, at, training, channel_axis):
    """Return (name, series) of the training series behind a counterfactual."""
    if training is None:
        return []
    if "prototypes" in details:
        labels, weights = details.prototype_index[at], details.weights[at]
        names = []
        for label, share in zip(labels, weights, strict=True):
            used = share[share > 0]
            low, high = format_value(used.min(), 2), format_value(used.max(), 2)
            names.append(f"{_named(label)}: {low if low == high else f'{low}-{high}'}")
        positions = details.prototypes[at]
    else:
        positions = [details.train_position[at]]
        names = [_named(details.train_index[at])]
    series = [_series(training, channel_axis, int(p)) for p in positions]
    return list(zip(names, series, strict=True))


def _named(label):
    return format_label(label).replace("query", "training")


def _title(explanation, row, at):
    before = format_value(explanation.prediction_before[row])
    after = format_value(explanation.prediction[at])
    cost = format_value(explanation.cost[at], 3)
    label = format_label(explanation._label(row))
    return f"{label}: {before} → {after}, cost {cost}"
