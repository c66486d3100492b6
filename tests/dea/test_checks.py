"""The checks of scikit-learn and the contract, on plans instead of features."""

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skcf.dea import DEA, DEATargetExplainer
from skcf.testing import explainer_checks

NARROW = "its table has two columns, and a plan of two inputs and an output needs three"
IDLE = "a unit of its table has no input: whole numbers, the least of which is made 0"
# Inputs and outputs are columns by position. Those of two columns follow below.
EXPECTED_FAILURES = {
    "check_estimators_overwrite_params": NARROW,
    "check_estimators_fit_returns_self": NARROW,
    "check_readonly_memmap_input": NARROW,
    "check_fit_idempotent": NARROW,
    "check_fit_check_is_fitted": NARROW,
    "check_n_features_in": NARROW,
    "check_estimators_dtypes": IDLE,
}
OF_FRAMES = [
    "check_dataframe_column_names_consistency",
    "check_param_validation",
]
OF_TRANSFORMERS = [
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]
pytestmark = [
    pytest.mark.filterwarnings("ignore::skcf.exceptions.CounterfactualNotFoundWarning"),
    pytest.mark.filterwarnings(
        "ignore:X (has|does not have) .* feature names:UserWarning"
    ),
]


def of_three(kind):
    return kind(inputs=[0, 1], outputs=[2])


@parametrize_with_checks(
    [of_three(DEA), of_three(DEATargetExplainer)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name", [name for name, why in EXPECTED_FAILURES.items() if why == NARROW]
)
@pytest.mark.parametrize("kind", [DEA, DEATargetExplainer])
def test_sklearn_of_two_columns(kind, name):
    getattr(estimator_checks, name)(kind.__name__, kind(inputs=[1], outputs=[0]))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((DEA, name) for name in OF_FRAMES),
        *((DEATargetExplainer, name) for name in [*OF_FRAMES, *OF_TRANSFORMERS]),
    ],
)
def test_sklearn_not_generated(kind, name):
    getattr(estimator_checks, name)(kind.__name__, of_three(kind))


CONTRACT = explainer_checks(
    DEATargetExplainer(inputs=[0, 1], outputs=[2, 3], returns_to_scale="vrs")
)


@pytest.mark.parametrize("check", [pytest.param(c, id=name) for name, c in CONTRACT])
def test_contract(check):
    check()
