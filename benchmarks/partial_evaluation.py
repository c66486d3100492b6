"""What each shortcut saves: tables, partial evaluation of trees, and both together.

    SKCF_DATA=folder python benchmarks/partial_evaluation.py

A random forest of 500 trees of depth 10 behind one-hot and min-max encoding, on a made
table of 174 encoded columns and on Adult. "off" asks the pipeline itself, in batches;
"tables" replaces the preprocessing and asks the forest; "trees" preprocesses every
candidate and walks on from the paths of the query; "both" is what the explainer does.
Times are seconds of the processor for a `transform`; selection is what the scoring of
candidates takes of an `explain`. "compact MB" are all candidates
of the call as they are held, "full MB" the same as full rows.
"""

import time

import numpy as np
from _common import ADULT_RULES, adult, cpu_seconds, pipeline, report, wide
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skcf._model._view import Opaque, View
from skcf._search import Problem
from skcf.tabular import GeCoExplainer


class TreesAlone:
    """A view of trees that has every candidate preprocessed by the pipeline."""

    asks, compiled = False, True

    def __init__(self, view, space):
        self.view, self.space = view, space

    def open(self, table, x, values):
        self.session = self.view.open(table, x, values)
        self.x, self.table, self.values = x, table, values
        self.transform = self.view.encoding.transform
        return self

    def output(self, cands):
        codes = cands.codes(self.x, self.values)
        rows = self.transform(self.space.decode(codes, self.table, cands.row))
        changed = rows != self.session.queries.rows[cands.row]
        ptr = np.concatenate([[0], np.cumsum(changed.sum(axis=1))])
        _, col = np.nonzero(changed)
        scores = self.session.kernel.scores(cands.row, ptr, col, rows[changed])
        return scores, scores


class Clock:
    """Adds up the time that scoring takes, and the memory of the candidates."""

    def __init__(self):
        self.seconds, self.compact, self.dense = 0.0, 0, 0
        self.plain = Problem.score

    def __enter__(self):
        def score(problem, cands, cost=None):
            begin = time.process_time()
            pool = self.plain(problem, cands, cost)
            self.seconds += time.process_time() - begin
            self.compact += cands.value.nbytes + cands.row.nbytes
            self.dense += 8 * len(cands) * problem.x.shape[1]
            return pool

        Problem.score = score
        return self

    def __exit__(self, *_):
        Problem.score = self.plain


def measure(data, X, y, rules, n_queries):
    model = pipeline(X, RandomForestClassifier(500, max_depth=10, random_state=0))
    model.fit(X, y)
    explainer = GeCoExplainer(
        FrozenEstimator(model), constraints=rules, target=1, random_state=0
    ).fit(X, y)
    view = explainer._model.view
    opaque = Opaque(model[-1], "predict_proba")
    opaque.encode(model[:-1].transform(X.head(2)))
    ways = {
        "off": None,
        "tables": View(view.encoding, opaque),
        "trees": TreesAlone(view, explainer._space),
        "both": view,
    }
    queries = X[model.predict(X) == 0].head(n_queries)
    rows = []
    for name, way in ways.items():
        explainer._model.view = way
        explainer.transform(queries.head(2))
        spent, _ = cpu_seconds(lambda: explainer.transform(queries), 2)
        with Clock() as clock:
            explanation = explainer.explain(queries)
        rows.append(
            {
                "data": data,
                "way": name,
                "seconds": spent,
                "selection": clock.seconds,
                "median cost": float(np.median(explanation.cost)),
                "compact MB": clock.compact / 1e6,
                "full MB": clock.dense / 1e6,
                "compression": clock.dense / clock.compact,
            }
        )
    for row in rows:
        row["speed-up"] = rows[0]["seconds"] / row["seconds"]
        row["selection speed-up"] = rows[0]["selection"] / row["selection"]
    return rows


if __name__ == "__main__":
    tables = measure("wide", *wide(5000), (), 20)
    tables += measure("adult", *adult(8000), ADULT_RULES, 20)
    report("partial_evaluation", tables)
