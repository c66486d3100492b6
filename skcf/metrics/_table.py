"""Tables of results, in the library of the rows that they are about."""

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import Bunch


def table_like(X, columns):
    """Return columns as a frame of the library of `X`, as a Bunch of arrays for arrays.

    Parameters
    ----------
    X : {ndarray, DataFrame}
    columns : dict of str to array-like, all of one length
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        module = frame.__native_namespace__()
        return module.DataFrame({name: list(v) for name, v in columns.items()})
    return Bunch(**{name: np.asarray(values) for name, values in columns.items()})
