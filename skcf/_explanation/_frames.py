"""The frames that an explanation returns."""

import numpy as np

from skcf._explanation._cells import (
    array_to_frame,
    as_reader,
    column_of,
    feature_names,
    frame_module,
    frame_of,
    mixed_column,
    with_more,
)
from skcf._explanation._changed import changed_columns, iter_changes

_LEADING = ("row", "rank", "cost", "n_changed", "prediction", "score")


def counterfactual_frame(explanation, more=None):
    """Return the counterfactuals with what is known of each before, and more behind.

    `more` has the values of each counterfactual by the name of their column.
    """
    frame = explanation.counterfactuals
    if isinstance(frame, np.ndarray):
        module = frame_module(frame)
        frame = array_to_frame(as_reader(frame), feature_names(frame), module)
    leading = [(name, getattr(explanation, name)) for name in _LEADING]
    return with_more(frame, leading, (more or {}).items())


def changes_frame(explanation):
    """Return the changed cells, a row each."""
    module = frame_module(explanation.queries)
    found = list(iter_changes(explanation))
    row, rank, feature, before, after = zip(*found, strict=True) if found else [()] * 5
    return frame_of(
        [
            column_of("row", np.array(row, dtype=np.intp), module),
            column_of("rank", np.array(rank, dtype=np.intp), module),
            column_of("feature", np.array(feature, dtype=str), module),
            mixed_column("before", before, explanation.queries, module),
            mixed_column("after", after, explanation.counterfactuals, module),
        ]
    )


def frequency_frame(explanation):
    """Return in which share of the best counterfactuals each feature changes."""
    module = frame_module(explanation.queries)
    names = np.array(feature_names(explanation.queries), dtype=str)
    best = np.flatnonzero(explanation.rank == 0)
    counts = np.array([mask.sum() for _, _, mask in changed_columns(explanation, best)])
    frequency = counts / max(len(best), 1)
    order = np.argsort(-frequency, kind="stable")
    return frame_of(
        [
            column_of("feature", names[order], module),
            column_of("frequency", frequency[order], module),
        ]
    )
