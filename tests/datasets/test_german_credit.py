"""Tests of what is done to the data after they were loaded; none needs the network."""

import pandas as pd

from skcf.datasets._german_credit import tidy_german_credit
from skcf.metrics import violations

# A few columns and rows in the form of OpenML.
FRAME = pd.DataFrame(
    {
        "duration": [6, 48, 12],
        "credit_history": ["all paid", "existing paid", "all paid"],
        "personal_status": ["male single", "female div/dep/mar", "male single"],
        "age": [67, 22, 49],
        "foreign_worker": ["yes", "yes", "no"],
        "class": ["good", "bad", "good"],
    }
)


def test_columns_and_rules():
    credit = tidy_german_credit(FRAME)
    assert list(credit.data) == list(FRAME)[:-1]
    assert credit.target.tolist() == ["good", "bad", "good"]
    younger = credit.data.assign(age=[66, 22, 50], duration=1)
    told = violations(
        credit.data,
        younger,
        constraints=credit.constraints,
        reference=credit.data,
        sample_wise=True,
    )
    assert told.tolist() == [1, 0, 0]
