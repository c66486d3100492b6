"""An explanation as nested dicts and lists of plain Python."""

import numpy as np

from skcf._explanation._cells import as_reader, cells, feature_names
from skcf._explanation._plain import plain


def explanation_to_dict(explanation, per_query, per_counterfactual):
    """Return all fields of an explanation, its queries one by one."""
    names = [str(name) for name in feature_names(explanation.queries)]
    changes = [[] for _ in explanation.row]
    starts = np.searchsorted(
        explanation.row, np.arange(len(explanation.status))
    ).tolist()
    for row, rank, name, before, after in explanation._iter_changes():
        change = {"feature": name, "before": plain(before), "after": plain(after)}
        changes[starts[row] + rank].append(change)
    found = _records(
        explanation.counterfactuals,
        names,
        rank=explanation.rank,
        changes=changes,
        **{name: getattr(explanation, name) for name in per_counterfactual[2:]},
    )
    positions = range(len(explanation.status))
    stops = starts[1:] + [len(explanation.row)]
    queries = _records(
        explanation.queries,
        names,
        row=positions,
        label=[explanation._label(position) for position in positions],
        **{name: getattr(explanation, name) for name in per_query},
        counterfactuals=[found[slice(*s)] for s in zip(starts, stops, strict=True)],
    )
    return {
        "features": names,
        "queries": queries,
        "details": plain(explanation.details),
    }


def _records(container, names, **fields):
    """Return a plain dict for each row of a container: its fields and its values."""
    reader, positions = as_reader(container), np.arange(len(container))
    columns = [plain(cells(reader, j, positions)) for j in range(len(names))]
    rows = zip(*columns, strict=True)
    fields["values"] = [dict(zip(names, row, strict=True)) for row in rows]
    fields = {name: plain(list(values)) for name, values in fields.items()}
    return [{name: values[i] for name, values in fields.items()} for i in positions]
