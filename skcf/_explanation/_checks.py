"""Whether the fields of an explanation fit together."""

import itertools

import numpy as np

from skcf._explanation._cells import feature_names, row_labels


def check_containers(explanation):
    """Check that queries and counterfactuals are alike, in type and features."""
    queries, counterfactuals = explanation.queries, explanation.counterfactuals
    if type(queries) is not type(counterfactuals):
        raise TypeError(
            f"counterfactuals must be in the container of queries, {type(queries)}, "
            f"got {type(counterfactuals)}."
        )
    if isinstance(queries, np.ndarray) and min(queries.ndim, counterfactuals.ndim) < 2:
        raise ValueError(
            "queries and counterfactuals must have at least two axes, got arrays of "
            f"shape {queries.shape} and {counterfactuals.shape}."
        )
    try:
        names = feature_names(queries), feature_names(counterfactuals)
    except TypeError as error:
        raise TypeError(
            f"queries must be an array or a data frame in memory, got {type(queries)}."
        ) from error
    for position, (name, other) in enumerate(itertools.zip_longest(*names)):
        if name != other:
            raise ValueError(
                "counterfactuals must have the features of queries, in their order; "
                f"feature {position} is {name!r} in queries and {other!r} in "
                "counterfactuals."
            )


def check_lengths(explanation, names, container):
    """Check that fields have one value for each row of `container`, a field too."""
    n_rows = len(getattr(explanation, container))
    for name in names:
        shape = getattr(explanation, name).shape
        if shape != (n_rows,):
            raise ValueError(
                f"{name} must have one value for each of the {container}, shape "
                f"{(n_rows,)}, got {shape}."
            )


def check_rows(explanation, statuses):
    """Check the order of the counterfactuals, the statuses and the index."""
    row, rank, status = explanation.row, explanation.rank, explanation.status
    unknown = sorted(set(status.tolist()) - set(statuses))
    if unknown:
        raise ValueError(f"status must be one of {statuses}, got {unknown}.")
    outside = row[(row < 0) | (row >= len(status))]
    if len(outside):
        raise ValueError(
            f"row must be a position among the {len(status)} queries, got {outside[0]}."
        )
    counts = np.bincount(row, minlength=len(status))
    ranks = np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
    if (np.diff(row) < 0).any() or (rank != ranks).any():
        raise ValueError(
            "counterfactuals must be sorted by row, and rank must count those of a "
            "row from 0."
        )
    wrong = np.flatnonzero((status == "found") != (counts > 0))
    if len(wrong):
        raise ValueError(
            'A query must have counterfactuals if its status is "found", and none '
            f"otherwise; query {wrong[0]} has {counts[wrong[0]]} and status "
            f'"{status[wrong[0]]}".'
        )
    labels = row_labels(explanation.queries)
    if labels is None or not len(row):
        return
    if not labels.take(row).equals(row_labels(explanation.counterfactuals)):
        raise ValueError(
            "counterfactuals must have the index label of their query, once for each "
            "of its counterfactuals."
        )
