from skcf.metrics import coverage
from skcf.tabular import NearestUnlikeExplainer
from tests.lending import MODEL, REFUSED, X, fitted


def test_rows_in_the_target_do_not_count():
    explainer = fitted(NearestUnlikeExplainer, constraints="cf.years <= 45")
    told = explainer.explain(X, target="granted")
    status = told.status.tolist()
    assert min(map(status.count, ("found", "already"))) > 0
    needed = (MODEL.predict(X) == "refused").sum()
    assert coverage(told) == status.count("found") / needed
    assert coverage(explainer.explain(REFUSED, target="refused")) == 1.0
    shut = explainer.explain(REFUSED, constraints="cf.years >= x.years + 40")
    assert coverage(shut) == 0.0
