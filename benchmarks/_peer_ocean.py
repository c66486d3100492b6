"""OCEAN on the task of `exact_peers.py`; runs in its own environment.

    python _peer_ocean.py folder limit

Its constraint program gets the booster or the forest, and what the encoded columns are:
numbers, or the categories of a column. It is asked with one worker, query after query.
"""

import json
import pickle
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xgboost
from ocean import ConstraintProgrammingExplainer
from ocean.abc import Mapper
from ocean.feature import Feature


def mapper_of(features):
    """Return OCEAN's description of the encoded columns, and their names."""
    mapping, columns = {}, []
    for feature in features:
        name, codes = feature["name"], feature["codes"]
        if codes:
            mapping[name] = Feature(Feature.Type.ONE_HOT_ENCODED, codes=codes)
        else:
            low, high = feature["range"]
            # The margins are those of OCEAN's own parser.
            levels = (low - 0.5, high + 0.5)
            mapping[name] = Feature(Feature.Type.CONTINUOUS, levels=levels)
        columns += [(name, code) for code in codes or [""]]
    if any(code for _, code in columns):
        index = pd.MultiIndex.from_tuples(columns)
    else:
        index = pd.Index([name for name, _ in columns])
    return Mapper(mapping, columns=index), [f"{n} {c}".strip() for n, c in columns]


def main(folder, limit):
    warnings.simplefilter("ignore")
    folder = Path(folder)
    task = json.loads((folder / "task.json").read_text())
    mapper, names = mapper_of(task["features"])
    if (folder / "model.json").exists():
        model = xgboost.Booster(model_file=str(folder / "model.json"))
        model.feature_names = names
    else:
        model = pickle.loads((folder / "model.pickle").read_bytes())
    begin = time.perf_counter()
    explainer = ConstraintProgrammingExplainer(model, mapper=mapper)
    told = {"set up": time.perf_counter() - begin, "queries": []}

    def ask(row, seconds):
        return explainer.explain(
            row, y=1, norm=1, max_time=seconds, num_workers=1, random_seed=0
        )

    queries = np.array(task["queries"])
    ask(queries[0], 1)
    for row in queries:
        begin, cpu = time.perf_counter(), time.process_time()
        found = ask(row, int(limit))
        answer = None if found is None else found.x.tolist()
        told["queries"].append(
            {
                "seconds": time.perf_counter() - begin,
                "cpu": time.process_time() - cpu,
                "status": explainer.get_solving_status(),
                "answer": answer,
            }
        )
    (folder / "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
