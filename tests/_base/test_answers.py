"""Verdicts: which answers of a query are judged, and in which order."""

import numpy as np

from skcf._base._answers import Query, Verdicts

PREDICTION = np.array(["no"])


def judged(row, good, k):
    """Return the lots in which answers are judged, and the ones that are kept."""
    verdict, lots = Verdicts(np.array(row, dtype=np.intp), PREDICTION), []
    while len(at := verdict.open(k)):
        lots.append(at.tolist())
        told = {"score": at / 10, "prediction": np.array(["perhaps"] * len(at))}
        verdict.add(at, np.isin(at, good), **told)
    kept, told = verdict.kept()
    return lots, kept.tolist(), told


def test_one_answer_a_query_is_judged_where_it_is_good():
    lots, kept, told = judged([0, 0, 0, 2, 2], good=[0, 1, 3, 4], k=1)
    assert lots == [[0, 3]]
    assert kept == [0, 3]
    assert told["score"].tolist() == [0.0, 0.3]
    assert told["prediction"].tolist() == ["perhaps", "perhaps"]


def test_the_next_one_is_judged_where_one_was_turned_down():
    lots, kept, told = judged([0, 0, 0, 2, 2], good=[2, 3], k=1)
    assert lots == [[0, 3], [1], [2]]
    assert kept == [2, 3]


def test_as_many_as_are_wanted():
    lots, kept, _ = judged([0, 0, 0, 0, 1], good=[0, 2, 3, 4], k=2)
    assert lots == [[0, 1, 4], [2]]
    assert kept == [0, 2, 4]


def test_no_answers():
    lots, kept, told = judged([], good=[], k=3)
    assert lots == [] and kept == []
    assert {name: len(values) for name, values in told.items()} == {
        "cost": 0,
        "n_changed": 0,
        "prediction": 0,
        "score": 0,
    }
    assert told["prediction"].dtype == PREDICTION.dtype


def test_a_meter_has_its_part_of_the_time():
    query = Query.of(np.zeros((2, 1)))
    assert query.meter(0.5).deadline is None
    query.state.update(begin=100.0, deadline=108.0, share=2.0)
    assert query.meter().deadline == 108.0
    assert query.meter(0.25).deadline == 102.0
