"""The cells of an explanation that change."""

import numpy as np

from skcf._explanation._cells import as_reader, cells, feature_names


def changed_columns(explanation, positions):
    """Yield cells before, cells after and where they differ, feature by feature."""
    queries = as_reader(explanation.queries)
    found = as_reader(explanation.counterfactuals)
    for column in range(queries.shape[1]):
        before = cells(queries, column, explanation.row[positions])
        after = cells(found, column, positions)
        changed = [a != b for a, b in zip(after, before, strict=True)]
        yield before, after, np.array(changed, dtype=bool)


def iter_changes(explanation, positions=None):
    """Yield (row, rank, feature, before, after) for each changed cell.

    The values are plain Python scalars, None where missing, sorted by row, rank and the
    order of the features. `positions` chooses among the counterfactuals.
    """
    if positions is None:
        positions = range(len(explanation.row))
    positions = np.asarray(positions, dtype=np.intp)
    names = feature_names(explanation.queries)
    columns = list(changed_columns(explanation, positions))
    changed = np.column_stack([mask for _, _, mask in columns])
    for place, column in np.argwhere(changed).tolist():
        position = positions[place]
        before, after, _ = columns[column]
        yield (
            int(explanation.row[position]),
            int(explanation.rank[position]),
            str(names[column]),
            before[place],
            after[place],
        )
