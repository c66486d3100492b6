"""The search against the model's own scoring time.

    SKCF_DATA=folder python benchmarks/limit.py

The whole time of a transform over the time that the pipeline itself takes to score the
same distinct candidates in one batch, in seconds of the processor. Below 1, searching
costs less than scoring. The queries and the answers are put through the pipeline on top
of that, to judge them.
"""

import numpy as np
from _common import ADULT_RULES, adult, cpu_seconds, pipeline, report
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from skcf._search import Problem
from skcf.tabular import GeCoExplainer


def candidates_of(explainer, queries):
    """Return the distinct candidates that a call scores, as a table."""
    lots, plain = [], Problem.score

    def score(problem, cands, cost=None):
        lots.append(cands.codes(problem.x, problem.values))
        return plain(problem, cands, cost)

    Problem.score = score
    try:
        explainer.transform(queries)
    finally:
        Problem.score = plain
    return explainer._space.decode(np.unique(np.concatenate(lots), axis=0))


def models():
    yield "random forest", RandomForestClassifier(100, max_depth=6, random_state=0)
    try:
        from xgboost import XGBClassifier
    except ImportError:
        pass
    else:
        yield "xgboost", XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1)
    yield "network", MLPClassifier((32, 16), max_iter=40, random_state=0)
    yield "logistic", LogisticRegression(max_iter=500)
    yield "black box (SVC)", SVC()


def ratio_of(name, explainer, fitted, queries):
    """Return a line of the table."""
    search, _ = cpu_seconds(lambda: explainer.transform(queries))
    table = candidates_of(explainer, queries)
    ask = getattr(fitted, explainer._model.method)
    score, _ = cpu_seconds(lambda: ask(table))
    return {
        "model": name,
        "queries": len(queries),
        "ms a query": 1000 * search / len(queries),
        "rows a query": len(table) / len(queries),
        "scoring ms a query": 1000 * score / len(queries),
        "ratio": search / score,
    }


def main():
    X, y = adult(8000)
    rows = []
    for name, model in models():
        small = slice(0, 2000) if "SVC" in name else slice(None)
        fitted = pipeline(X, model).fit(X[small], y[small])
        explainer = GeCoExplainer(
            FrozenEstimator(fitted), constraints=ADULT_RULES, target=1, random_state=0
        ).fit(X, y)
        if "black box" in name:
            explainer._model.view = None
        queries = X[fitted.predict(X) == 0]
        explainer.transform(queries.head(2))
        # A model that is asked itself takes a minute for 500 queries.
        for n in (1, 50) if explainer._model.view is None else (1, 50, 500):
            rows.append(ratio_of(name, explainer, fitted, queries.head(n)))
            print(rows[-1], flush=True)
    report("limit", rows)


if __name__ == "__main__":
    main()
