"""The checks of scikit-learn and the contract, on every explainer."""

from importlib.util import find_spec

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skcf.group import (
    ManyForOneExplainer,
    OneForAllExplainer,
    OneForManyExplainer,
    OneForOneExplainer,
    SparseOneForManyExplainer,
)
from skcf.tabular import (
    CERTIFAIExplainer,
    DiverseExplainer,
    GeCoExplainer,
    GreedyExplainer,
    MACEExplainer,
    NearestUnlikeExplainer,
    OptimalExplainer,
    SHAPOrderExplainer,
    SimCFExplainer,
)
from skcf.testing import explainer_checks
from skcf.timeseries import (
    ChannelSwapExplainer,
    NearestUnlikeSeriesExplainer,
    PrototypeExplainer,
)

# A small search is enough to keep a contract.
SMALL = {"q": 20, "m_init": 5, "max_generations": 3}
BRIEF = {"epochs": 3, "batch_size": 10, "n_samples": 10, "n_steps": 2}

SHAP = []
if find_spec("shap"):
    few = {"n_background": 1, "n_permutations": 1}
    SHAP = [SHAPOrderExplainer(LogisticRegression(), **few)]

NOT_GENERATED = [
    "check_dataframe_column_names_consistency",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_param_validation",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]

# Nothing ties the rows of OneForOneExplainer by default.
OF_GROUPS = (OneForAllExplainer, OneForManyExplainer, SparseOneForManyExplainer)
TOGETHER = {
    "check_methods_subset_invariance": "the rows of a call are explained together",
}


def expected_failures(explainer):
    """Return the checks that an explainer need not pass, each with its reason."""
    return TOGETHER if isinstance(explainer, OF_GROUPS) else {}


def explainers(**search):
    """Return one of each explainer; `search` has parameters of a search."""
    return [
        NearestUnlikeExplainer(LogisticRegression()),
        GeCoExplainer(LogisticRegression(), **SMALL, **search),
        MACEExplainer(LogisticRegression(), **BRIEF, **search),
        CERTIFAIExplainer(LogisticRegression(), q=20, max_generations=3),
        SimCFExplainer(LogisticRegression()),
        GreedyExplainer(LogisticRegression()),
        DiverseExplainer(LogisticRegression(), q=5, max_generations=0),
        *SHAP,
        OptimalExplainer(DecisionTreeClassifier(random_state=0)),
        PrototypeExplainer(LogisticRegression(), max_prototypes=1),
        ChannelSwapExplainer(LogisticRegression()),
        NearestUnlikeSeriesExplainer(LogisticRegression()),
        ManyForOneExplainer(DecisionTreeClassifier(random_state=0), feature=0),
        OneForOneExplainer(DecisionTreeClassifier(random_state=0)),
        OneForAllExplainer(DecisionTreeClassifier(random_state=0)),
        OneForManyExplainer(DecisionTreeClassifier(random_state=0), n_init=1),
        SparseOneForManyExplainer(LogisticRegression()),
    ]


def by_name(explainer):
    """Name an explainer in the id of a test."""
    return type(explainer).__name__


@pytest.mark.filterwarnings("ignore::skcf.exceptions.CounterfactualNotFoundWarning")
@parametrize_with_checks(
    explainers(finish=False), expected_failed_checks=expected_failures
)
def test_sklearn(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::skcf.exceptions.CounterfactualNotFoundWarning")
@pytest.mark.filterwarnings("ignore:X (has|does not have) .* feature names:UserWarning")
@pytest.mark.parametrize("name", NOT_GENERATED)
@pytest.mark.parametrize("explainer", explainers(finish=False), ids=by_name)
def test_sklearn_not_generated(explainer, name):
    # Their classes are noise: only a model that learns noise predicts both of them.
    explainer.set_params(estimator=DecisionTreeClassifier(random_state=0))
    getattr(estimator_checks, name)(by_name(explainer), explainer)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{by_name(explainer)}-{name}")
        for explainer in explainers()
        for name, check in explainer_checks(explainer)
    ],
)
def test_contract(check):
    check()
