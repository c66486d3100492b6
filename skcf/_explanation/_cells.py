"""Reading and building the containers of an explanation: arrays and frames."""

import narwhals.stable.v2 as nw
import numpy as np

from skcf._explanation._plain import unboxed


def as_reader(container):
    """Wrap a container for reading: a 2-D array, or a narwhals DataFrame.

    Arrays with more axes, such as series of shape (n_series, length, n_channels), are
    read with one feature for each cell of a row.
    """
    if isinstance(container, np.ndarray):
        return container.reshape(len(container), int(np.prod(container.shape[1:])))
    return nw.from_native(container, eager_only=True)


def feature_names(container):
    """Return the names of the features, `x0`, `x1`, ... where there are none.

    Series have names of several positions, `x0_0`, `x0_1`, ...: one for each axis.
    """
    if isinstance(container, np.ndarray):
        shape = container.shape[1:]
        return ["x" + "_".join(map(str, cell)) for cell in np.ndindex(shape)]
    return list(nw.from_native(container, eager_only=True).columns)


def row_labels(container):
    """Return the pandas index of a container, None where it has none."""
    if isinstance(container, np.ndarray):
        return None
    return nw.maybe_get_index(nw.from_native(container, eager_only=True))


def take(container, positions):
    """Return rows by position, in the same container."""
    if isinstance(container, np.ndarray):
        return container[positions]
    return nw.from_native(container, eager_only=True)[positions].to_native()


def cells(reader, column, positions):
    """Return some rows of one column as Python values, None where missing."""
    values = reader[positions, column]
    # An array of dates goes through `list`: its tolist makes integers of nanoseconds.
    listed = list(values) if isinstance(values, np.ndarray) else values.to_list()
    return [unboxed(value) for value in listed]


def frame_module(container):
    """Return the library that frames made for a container come from.

    Raises
    ------
    ImportError
        If the container is an array and neither pandas nor polars is installed.
    """
    if not isinstance(container, np.ndarray):
        return nw.from_native(container, eager_only=True).__native_namespace__()
    try:
        import pandas as module
    except ImportError:
        try:
            import polars as module
        except ImportError as error:
            raise ImportError(
                "A frame of an explanation of arrays needs pandas or polars. Install "
                "one of them: `pip install pandas`."
            ) from error
    return module


def is_pandas_like(module):
    """Tell whether a library follows pandas (object columns, an index)."""
    return nw.Implementation.from_native_namespace(module).is_pandas_like()


def array_to_frame(array, names, module):
    """Turn a 2-D array into a frame with one type for each column."""
    if is_pandas_like(module):
        return module.DataFrame(array, columns=names).infer_objects()
    columns = zip(names, array.T, strict=True)
    return module.DataFrame(
        {
            name: module.Series(
                name, values.tolist() if array.dtype == object else values, strict=False
            )
            for name, values in columns
        }
    )


def column_of(name, values, module):
    """Turn an array of numbers or labels into a narwhals Series."""
    if is_pandas_like(module):
        return nw.from_native(module.Series(values, name=name), series_only=True)
    kind, values = values.dtype.kind, values.tolist()
    if kind == "O" and values:
        inferred = np.asarray([str(v) if isinstance(v, tuple) else v for v in values])
        kind = inferred.dtype.kind
    types = {"f": nw.Float64, "i": nw.Int64, "u": nw.UInt64, "b": nw.Boolean}
    dtype = types.get(kind, nw.String)
    if dtype == nw.String:
        values = [None if value is None else str(value) for value in values]
    return nw.new_series(name, values, dtype, backend=module)


def mixed_column(name, values, container, module):
    """Turn cells of several features of a container into one narwhals Series.

    The type follows from the types of all the features of the container, not from
    the cells: the features' own type if they have but one; else `object` in pandas
    and, where a column cannot mix types, Float64 if all features are numbers, or
    strings.
    """
    reader = as_reader(container)
    if is_pandas_like(module):
        if isinstance(reader, np.ndarray):
            kinds = {"U": str} | dict.fromkeys("biuf", reader.dtype)
            dtypes = [kinds.get(reader.dtype.kind, object)]
        else:
            dtypes = list(reader.to_native().dtypes)
        same = all(dtype == dtypes[0] for dtype in dtypes)
        dtype = dtypes[0] if same else object
        series = module.Series(values, name=name, dtype=dtype)
        return nw.from_native(series, series_only=True)
    if isinstance(reader, np.ndarray):
        return column_of(name, np.array(values, dtype=reader.dtype), module)
    dtypes = set(reader.schema.values())
    if len(dtypes) == 1:
        return nw.new_series(name, values, dtypes.pop(), backend=module)
    if all(dtype.is_numeric() for dtype in dtypes):
        values = [None if value is None else float(value) for value in values]
        return nw.new_series(name, values, nw.Float64, backend=module)
    values = [None if value is None else str(value) for value in values]
    return nw.new_series(name, values, nw.String, backend=module)


def frame_of(series):
    """Join narwhals Series of one length into a native frame."""
    parts = [column.to_frame() for column in series]
    return nw.concat(parts, how="horizontal").to_native()


def with_more(frame, leading, trailing=()):
    """Return a native frame with more columns before and behind its own.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_features)
        Left as it is.

    leading, trailing : list of (str, ndarray of shape (n_rows,))
        The columns. One whose name the frame has already is called `cf_<name>`.

    Returns
    -------
    DataFrame of shape (n_rows, n_leading + n_features + n_trailing)
        In the library of `frame`, with its index.
    """
    reader = nw.from_native(frame, eager_only=True)
    module, taken = reader.__native_namespace__(), list(reader.columns)
    sides = []
    for columns in (leading, trailing):
        sides.append([])
        for name, values in columns:
            while name in taken:
                name = f"cf_{name}"
            taken.append(name)
            sides[-1].append((name, values))
    if is_pandas_like(module):
        frame, n_features = frame.copy(), frame.shape[1]
        for position, (name, values) in enumerate(sides[0]):
            frame.insert(position, name, values)
        for position, (name, values) in enumerate(sides[1]):
            frame.insert(len(sides[0]) + n_features + position, name, values)
        return frame
    before, behind = (
        [nw.from_native(frame_of([column_of(*c, module) for c in side]))]
        if side
        else []
        for side in sides
    )
    return nw.concat([*before, reader, *behind], how="horizontal").to_native()
