"""Tests of what is done to the data after they were loaded; none needs the network."""

import pandas as pd

from skcf.datasets._adult import tidy_adult
from skcf.metrics import violations

# A few rows in the form of OpenML.
FRAME = pd.DataFrame(
    {
        "age": [25, 38, 44, 34],
        "workclass": ["Private", "Private", None, "State-gov"],
        "fnlwgt": [226802, 89814, 160323, 198693],
        "education": ["11th", "HS-grad", "Some-college", "10th"],
        "education-num": [7, 9, 10, 6],
        "marital-status": ["Never-married", "Divorced", "Divorced", "Never-married"],
        "hours-per-week": [40, 50, 40, 30],
        "sex": ["Male", "Male", "Female", "Male"],
        "race": ["Black", "White", "Black", "White"],
        "native-country": ["United-States"] * 4,
        "class": ["<=50K", "<=50K", ">50K", ">50K"],
    }
)


def test_names_and_rules():
    adult = tidy_adult(FRAME)
    assert list(adult.data) == [
        "age",
        "workclass",
        "education_num",
        "marital_status",
        "hours_per_week",
        "sex",
        "race",
        "native_country",
    ]
    assert adult.target.tolist() == FRAME["class"].tolist()
    assert "education-num" in FRAME
    other = adult.data.assign(sex="Female", age=[30, 30, 44, 34])
    told = violations(
        adult.data,
        other,
        constraints=adult.constraints,
        reference=adult.data,
        sample_wise=True,
    )
    assert told.tolist() == [1, 2, 0, 1]
