"""Series as rows of numbers: which cell is which time of which channel."""

import narwhals.stable.v2 as nw
import numpy as np

from skcf._space import container_of

_FLOATS = (nw.Float32(), nw.Float64())


class SeriesSpace:
    """The layout of series, and how they are read and written.

    Codes are float64 rows with the cells of a series in the order in which they lie in
    memory, whatever the order of its axes. Whole numbers become floats: a series
    between two others is seldom whole.

    Parameters
    ----------
    X : {ndarray, dataframe} of shape (n, n_times) or ndarray with three axes
    channel_axis : {1, 2}
        Which axis of three holds the channels.

    Attributes
    ----------
    channel, time : ndarray of shape (n_features,)
        The channel and the time of each cell.
    """

    def __init__(self, X, channel_axis):
        self.container = container_of(X)
        self.shape = X.shape[1:]
        self.n_features = int(np.prod(self.shape))
        cell = np.indices(self.shape).reshape(len(self.shape), -1)
        at = channel_axis - 1
        if len(self.shape) == 2:
            self.channel, self.time = cell[at], cell[1 - at]
        else:
            self.channel, self.time = np.zeros_like(cell[0]), cell[0]
        self.n_channels = int(self.channel.max()) + 1
        self.n_times = int(self.time.max()) + 1
        kept = self.container
        _check_numbers(kept)
        if kept.kind == "array":
            self.dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
            self.single = self.dtype == np.float32
        else:
            self.dtypes = [
                d if t in _FLOATS else kept.wider(d, None, whole=False)
                for d, t in zip(kept.dtypes, kept.types, strict=True)
            ]
            self.single = any(t == nw.Float32() for t in kept.types)

    def encode(self, X):
        """Return series as codes; missing and infinite values are refused."""
        container = container_of(X)
        if container.kind == "array":
            codes = X.reshape(len(X), self.n_features).astype(np.float64)
        else:
            _check_numbers(container)
            columns = (container.column(X, j) for j in range(X.shape[1]))
            codes = np.column_stack([container.numbers(c) for c in columns])
        self._check_finite(codes)
        return codes

    def decode(self, codes):
        """Return codes as the model takes series: container and dtypes of fit."""
        if self.container.kind == "array":
            return codes.reshape(len(codes), *self.shape).astype(self.dtype)
        columns = [
            self.container.write(codes[:, j], dtype)
            for j, dtype in enumerate(self.dtypes)
        ]
        return self.container.build(columns)

    def restore(self, X):
        """Return a table of any container as the model takes it."""
        if self.container.kind == "array" and isinstance(X, np.ndarray):
            return X.astype(self.dtype, copy=False)
        return self.decode(self.encode(X))

    def emit_plain(self, codes):
        """Return codes as an array of the shape of the series."""
        return codes.reshape(len(codes), *self.shape)

    def emit(self, X, row, codes):
        """Return codes in the container of the query `X`, with its index.

        A column keeps the query's dtype where that can hold all floats of the fitted
        one.
        """
        container = container_of(X)
        if container.kind == "array":
            dtype = self._written(X.dtype, X.dtype.kind == "f", X.dtype.itemsize)
            return codes.reshape(len(codes), *self.shape).astype(dtype)
        columns = []
        for j, (dtype, kind) in enumerate(
            zip(container.dtypes, container.types, strict=True)
        ):
            if kind != nw.Float64() and (kind != nw.Float32() or not self._narrow(j)):
                if container.kind == self.container.kind:
                    dtype = self.dtypes[j]
                else:
                    dtype = container.wider(dtype, None, whole=False)
            columns.append(container.write(codes[:, j], dtype))
        return container.build(columns, like=container.take(X, row))

    def _narrow(self, j):
        """Return whether column `j` was fitted in single precision."""
        return self.container.types[j] == nw.Float32()

    def _written(self, dtype, is_float, size):
        if is_float and (size == 8 or self.single):
            return dtype
        return np.float32 if self.single else np.float64

    def _check_finite(self, codes):
        bad = ~np.isfinite(codes)
        if not bad.any():
            return
        i, j = np.argwhere(bad)[0]
        word = "NaN" if np.isnan(codes[i, j]) else "infinity"
        place = f"at time {self.time[j]}"
        if self.n_channels > 1:
            place += f" of channel {self.channel[j]}"
        told = f"Input X contains {word}: series {i} has it {place}"
        if bad[i].all():
            told = f"Input X contains {word}: series {i} has nothing else"
        raise ValueError(
            f"{told}. Series are combined time by time, so each needs a number at "
            "every time: interpolate what is missing, and resample series of unequal "
            "length."
        )


def _check_numbers(container):
    """Raise for a column that holds no numbers."""
    for name, kind in zip(container.names, container.types, strict=True):
        if not (kind.is_numeric() or kind == nw.Boolean()):
            raise ValueError(
                f"Column {name!r} is of type {kind}; a series consists of numbers."
            )
