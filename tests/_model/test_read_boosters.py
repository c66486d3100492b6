"""Trees of XGBoost and LightGBM give what their estimators give."""

import numpy as np
import pytest
from scipy import sparse

from skcf._model._read_trees import read_trees
from tests._model.tree_agreement import (
    N,
    categorical_frame,
    check,
    check_categorical_frame,
    make_data,
)


# XGBoost 3.4 bids farewell to forests, dart and linear boosters.
@pytest.mark.filterwarnings("ignore:`XGBRF:FutureWarning")
@pytest.mark.filterwarnings("ignore:.*booster=.*deprecated:UserWarning")
class TestXGBoost:
    """Sums of float32 numbers: equal to some 1e-7."""

    @pytest.fixture(autouse=True)
    def xgb(self):
        self.xgb = pytest.importorskip("xgboost")

    @pytest.mark.parametrize("missing", [False, True])
    @pytest.mark.parametrize("task", ["binary", "multiclass"])
    @pytest.mark.parametrize("name", ["XGBClassifier", "XGBRFClassifier"])
    def test_classifiers(self, name, task, missing):
        X, y = make_data(task, missing=missing)
        y = np.unique(y, return_inverse=True)[1]
        model = getattr(self.xgb, name)(n_estimators=9, max_depth=4, n_jobs=1)
        check(model.fit(X, y, sample_weight=np.linspace(0.5, 2, N)), X, atol=1e-6)

    @pytest.mark.parametrize(
        "objective",
        [
            "reg:squarederror",
            "reg:absoluteerror",
            "reg:pseudohubererror",
            "reg:squaredlogerror",
            "reg:logistic",
            "reg:gamma",
            "reg:tweedie",
            "count:poisson",
        ],
    )
    def test_regressors(self, objective):
        X, y = make_data("regression")
        y = (y - y.min() + 0.1) / np.ptp(y) / 1.2
        model = self.xgb.XGBRegressor(
            n_estimators=9, max_depth=3, objective=objective, n_jobs=1
        )
        check(model.fit(X, y), X, atol=1e-6)
        check(self.xgb.XGBRFRegressor(n_estimators=4, n_jobs=1).fit(X, y), X, atol=1e-6)

    @pytest.mark.parametrize(
        "params",
        [
            {"base_score": 0.2},
            {"booster": "dart", "rate_drop": 0.5},
            {"num_parallel_tree": 3},
            {"missing": -1.0},
            {"grow_policy": "lossguide", "max_leaves": 7, "tree_method": "hist"},
            {"gamma": 1.0, "tree_method": "exact"},
        ],
        ids=str,
    )
    def test_parameters(self, params):
        X, y = make_data("binary")
        model = self.xgb.XGBClassifier(n_estimators=9, max_depth=4, n_jobs=1, **params)
        check(model.fit(X, (y == "yes").astype(int)), X, atol=1e-6)

    def test_softmax(self):
        X, y = make_data("multiclass")
        y = np.unique(y, return_inverse=True)[1]
        model = self.xgb.XGBClassifier(
            n_estimators=4, objective="multi:softmax", n_jobs=1
        )
        check(model.fit(X, y), X, atol=1e-6)

    @pytest.mark.parametrize("task", ["binary", "multiclass"])
    def test_early_stopping(self, task):
        X, y = make_data(task)
        y = np.unique(y, return_inverse=True)[1]
        model = self.xgb.XGBClassifier(
            n_estimators=80, early_stopping_rounds=2, n_jobs=1, learning_rate=0.8
        )
        model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
        trees = check(model, X, atol=1e-6)
        assert len(trees.root) == (model.best_iteration + 1) * len(trees.base)
        assert len(trees.root) < model.get_booster().num_boosted_rounds() * len(
            trees.base
        )

    def test_categories(self):
        for limit in (1, 100):
            model = self.xgb.XGBClassifier(
                n_estimators=9,
                max_depth=4,
                n_jobs=1,
                enable_categorical=True,
                max_cat_to_onehot=limit,
            )
            check_categorical_frame(model, 1e-6)

    def test_codes_of_an_array(self):
        X, y = make_data("binary")
        X[:, 4] = np.arange(N) % 150
        X[::13, 4] = np.nan
        model = self.xgb.XGBClassifier(
            n_estimators=9,
            feature_types=["q", "q", "c", "q", "c", "q"],
            enable_categorical=True,
            max_cat_to_onehot=1,
            n_jobs=1,
        ).fit(X, (y == "yes").astype(int))
        check(model, X, atol=1e-6, thresholds=False)

    def test_names_that_are_not_ascii_are_left_alone(self):
        frame, y = categorical_frame()
        frame["town"] = frame["town"].cat.rename_categories({"h": "ö"})
        model = self.xgb.XGBClassifier(
            n_estimators=2, enable_categorical=True, n_jobs=1
        )
        assert read_trees(model.fit(frame, y)) is None

    def test_absent_cells_of_sparse_rows_are_missing(self):
        X, y = make_data("binary")
        X[X < 0.3] = 0
        table = sparse.csr_array(X)
        model = self.xgb.XGBClassifier(n_estimators=5, n_jobs=1)
        model.fit(table, (y == "yes").astype(int))
        check(model, table, atol=1e-6, thresholds=False)

    def test_unsupported(self):
        X, y = make_data("binary")
        y = (y == "yes").astype(int)

        def logistic(truth, margin):
            p = 1 / (1 + np.exp(-margin))
            return p - truth, p * (1 - p)

        for params in (
            {"booster": "gblinear", "updater": "coord_descent"},
            {"objective": logistic},
            {"objective": "binary:hinge"},
        ):
            model = self.xgb.XGBClassifier(n_estimators=2, n_jobs=1, **params)
            assert read_trees(model.fit(X, y)) is None
        model = self.xgb.XGBRegressor(n_estimators=2, n_jobs=1).fit(
            X, np.column_stack([y, y])
        )
        assert read_trees(model) is None
        model = self.xgb.XGBRegressor(
            n_estimators=2, multi_strategy="multi_output_tree"
        )
        assert read_trees(model.fit(X, np.column_stack([y, y]))) is None


class TestLightGBM:
    @pytest.fixture(autouse=True)
    def lgb(self):
        self.lgb = pytest.importorskip("lightgbm")

    def model(self, kind, **params):
        settings = {"n_estimators": 9, "num_leaves": 9, "n_jobs": 1, "verbose": -1}
        return getattr(self.lgb, kind)(**{**settings, "min_child_samples": 5, **params})

    @pytest.mark.parametrize("missing", [False, True])
    @pytest.mark.parametrize("task", ["binary", "multiclass"])
    @pytest.mark.parametrize(
        "params",
        [
            {},
            {"boosting_type": "dart", "drop_rate": 0.5},
            {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
            {"sigmoid": 1.7},
            {"zero_as_missing": True},
            {"use_missing": False},
        ],
        ids=str,
    )
    def test_classifiers(self, task, missing, params):
        X, y = make_data(task, missing=missing)
        model = self.model("LGBMClassifier", **params)
        check(model.fit(X, y, sample_weight=np.linspace(0.5, 2, N)), X)

    def test_one_against_all(self):
        X, y = make_data("multiclass")
        check(self.model("LGBMClassifier", objective="multiclassova").fit(X, y), X)

    @pytest.mark.parametrize(
        "objective",
        [
            "regression",
            "regression_l1",
            "huber",
            "fair",
            "quantile",
            "mape",  # codespell:ignore mape
            "poisson",
            "gamma",
            "tweedie",
            "cross_entropy",
        ],
    )
    def test_regressors(self, objective):
        X, y = make_data("regression")
        y = (y - y.min() + 0.1) / np.ptp(y) / 1.2
        check(self.model("LGBMRegressor", objective=objective).fit(X, y), X)

    def test_root_of_the_target(self):
        X, y = make_data("regression")
        check(self.model("LGBMRegressor", reg_sqrt=True).fit(X, y), X)

    # Its successors eval_X and eval_y came with 4.7.
    @pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
    def test_early_stopping(self):
        X, y = make_data("binary")
        model = self.model("LGBMClassifier", n_estimators=90, learning_rate=0.8)
        stop = self.lgb.early_stopping(2, verbose=False)
        model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], callbacks=[stop])
        assert len(check(model, X).root) == model.best_iteration_ < 90

    def test_trees_of_one_node(self):
        X, y = make_data("binary")
        check(self.model("LGBMClassifier", min_child_samples=400).fit(X, y), X)

    def test_categories(self):
        for limit in (1, 100):
            model = self.model(
                "LGBMClassifier", max_cat_to_onehot=limit, min_data_per_group=5
            )
            check_categorical_frame(model, 1e-12)

    def test_codes_of_an_array(self):
        X, y = make_data("binary")
        X[:, 4] = np.arange(N) % 150
        X[::13, 4] = np.nan
        model = self.model("LGBMClassifier", min_data_per_group=5, cat_smooth=1)
        model.fit(X, y, categorical_feature=[2, 4])
        trees = check(model, X, thresholds=False)
        assert (trees.category >= 0).any()
        X[:, 4] = np.arange(N) - 20
        np.testing.assert_allclose(trees.scores(X), model.predict_proba(X), atol=1e-12)

    def test_sparse_rows(self):
        X, y = make_data("binary")
        X[X < 0.3] = 0
        model = self.model("LGBMClassifier").fit(sparse.csr_matrix(X), y)
        check(model, sparse.csr_matrix(X), thresholds=False)

    def test_unsupported(self):
        X, y = make_data("binary")
        y = (y == "yes").astype(int)
        model = self.model("LGBMClassifier", linear_tree=True).fit(X, y)
        assert read_trees(model) is None
        model = self.model("LGBMRegressor", objective=lambda t, p: (p - t, np.ones(N)))
        assert read_trees(model.fit(X, y)) is None
        model = self.model("LGBMRegressor", objective="cross_entropy_lambda")
        assert read_trees(model.fit(X, y)) is None
