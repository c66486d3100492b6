"""Trees that were read give what their estimators give."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from skcf._model._read_trees import read_trees

N = 300


def make_data(task, *, missing=False, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, 6))
    X[:, 1] = np.round(X[:, 1] * 4)
    X[:, 2] = random.integers(0, 5, N)
    score = X[:, 0] + X[:, 1] / 4 * np.where(X[:, 2] > 2, 1, -1) + X[:, 3] ** 2
    score += random.normal(size=N) / 4
    if missing:
        X[random.random(X.shape) < 0.15] = np.nan
    if task == "regression":
        return X, score
    n_classes = {"binary": 2, "multiclass": 3}[task]
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.array(["no", "yes", "so"])[np.searchsorted(cuts, score)]


def at_thresholds(trees, X, n=60):
    """Return rows on thresholds and next to them, in both precisions."""
    nodes = np.flatnonzero((trees.feature >= 0) & (trees.category < 0))
    nodes = nodes[np.isfinite(trees.threshold[nodes])]
    nodes = np.random.default_rng(1).permutation(nodes)[:n]
    rows = []
    for k, node in enumerate(nodes):
        at = trees.threshold[node]
        single = np.float32(at)
        steps = [np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf)]
        steps += [np.nextafter(steps[1], np.float32(np.inf))]
        steps += [np.nextafter(at, -np.inf), at, np.nextafter(at, np.inf), single]
        for value in steps:
            row = X[k % len(X)].copy()
            row[trees.feature[node]] = value
            rows.append(row)
    return np.array(rows).reshape(-1, X.shape[1])


def check(estimator, X, *, atol=1e-12, thresholds=True):
    trees = read_trees(estimator)
    output = getattr(estimator, trees.method)
    rows = trees.encode(X)
    truth = output(X)
    scores = trees.scores(rows)
    assert scores.shape == truth.shape
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, truth, rtol=0, atol=atol)
    np.testing.assert_allclose(trees._scores_numpy(rows), scores, rtol=0, atol=1e-12)
    if thresholds and (trees.feature >= 0).any():
        Z = at_thresholds(trees, X)
        np.testing.assert_allclose(trees.scores(Z), output(Z), rtol=0, atol=atol)
        np.testing.assert_allclose(
            trees._scores_numpy(Z), trees.scores(Z), rtol=0, atol=1e-12
        )
    again = pickle.loads(pickle.dumps(trees))
    np.testing.assert_array_equal(again.scores(rows), scores)
    return trees


SKLEARN = [
    DecisionTreeClassifier(max_depth=5),
    DecisionTreeClassifier(
        max_leaf_nodes=9, min_samples_leaf=7, class_weight="balanced"
    ),
    ExtraTreeClassifier(max_depth=5),
    RandomForestClassifier(8, max_depth=6),
    ExtraTreesClassifier(8, max_leaf_nodes=12),
    GradientBoostingClassifier(n_estimators=8, subsample=0.7),
    GradientBoostingClassifier(n_estimators=6, init="zero", learning_rate=0.5),
    HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5),
    AdaBoostClassifier(n_estimators=8),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=6),
    AdaBoostClassifier(ExtraTreeClassifier(max_depth=3), n_estimators=6),
]
REGRESSORS = [
    DecisionTreeRegressor(max_depth=6),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=3),
    ExtraTreeRegressor(max_depth=5),
    RandomForestRegressor(8, max_depth=6),
    ExtraTreesRegressor(8, max_depth=6),
    GradientBoostingRegressor(n_estimators=8),
    GradientBoostingRegressor(n_estimators=8, loss="quantile", alpha=0.8),
    GradientBoostingRegressor(n_estimators=8, loss="huber", init="zero"),
    HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5),
    HistGradientBoostingRegressor(max_iter=8, loss="quantile", quantile=0.3),
    AdaBoostRegressor(n_estimators=8),
    AdaBoostRegressor(DecisionTreeRegressor(max_depth=5), n_estimators=7),
]
TAKE_MISSING = [
    DecisionTreeClassifier(max_depth=5),
    RandomForestClassifier(8, max_depth=6),
    ExtraTreesClassifier(8, max_depth=6),
    HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5),
]


def name_of(estimator):
    return type(estimator).__name__


def with_seed(estimator):
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("estimator", SKLEARN, ids=name_of)
def test_classifiers(estimator, task):
    X, y = make_data(task)
    trees = check(with_seed(estimator).fit(X, y), X)
    assert trees.method == "predict_proba"


@pytest.mark.parametrize("estimator", REGRESSORS, ids=name_of)
def test_regressors(estimator):
    X, y = make_data("regression")
    trees = check(with_seed(estimator).fit(X, y), X)
    assert trees.method == "predict"
    assert trees.precision == ("float64" if "Hist" in name_of(estimator) else "float32")


@pytest.mark.parametrize("estimator", TAKE_MISSING, ids=name_of)
@pytest.mark.parametrize("seen", [True, False])
def test_missing_values(estimator, seen):
    X, y = make_data("binary", missing=True)
    fitted = with_seed(estimator).fit(X if seen else np.nan_to_num(X), y)
    if seen or "Forest" not in name_of(estimator) and "Extra" not in name_of(estimator):
        check(fitted, X)


def test_exponential_loss():
    X, y = make_data("binary")
    check(GradientBoostingClassifier(loss="exponential", n_estimators=9).fit(X, y), X)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_positive_targets(loss):
    X, y = make_data("regression")
    model = HistGradientBoostingRegressor(loss=loss, max_iter=9, early_stopping=True)
    check(model.fit(X, np.abs(y) + 0.1), X)


def test_early_stopping_and_sample_weight():
    X, y = make_data("multiclass")
    weight = np.random.default_rng(0).random(N)
    model = GradientBoostingClassifier(
        n_estimators=60, n_iter_no_change=2, learning_rate=1.0, random_state=0
    )
    assert len(model.fit(X, y, weight).estimators_) < 60
    check(model, X)
    check(RandomForestClassifier(5, bootstrap=True).fit(X, y, weight), X)


def test_trees_of_one_node():
    X, y = make_data("binary")
    Z = np.zeros_like(X)
    for model in (DecisionTreeClassifier(), RandomForestClassifier(3)):
        trees = check(model.fit(Z, y), Z)
        assert (trees.feature < 0).all()
    check(HistGradientBoostingClassifier(max_iter=3).fit(Z, y), Z)
    check(DecisionTreeRegressor().fit(Z, X[:, 0]), Z)
    check(DecisionTreeClassifier().fit(X, np.zeros(N)), X)


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_hist_gradient_boosting_with_categories_of_an_array(task):
    X, y = make_data(task)
    if task == "regression":
        y += 5 * np.isin(X[:, 2], (1, 4))
    X[:, 2] = X[:, 2] * 10 - 5
    X[::11, 2] = np.nan
    kind = HistGradientBoostingRegressor if task == "regression" else None
    kind = kind or HistGradientBoostingClassifier
    model = kind(max_iter=9, min_samples_leaf=5, categorical_features=[2, 5])
    X[:, 5] = np.arange(N) % 70
    trees = check(model.fit(X, y), X, thresholds=False)
    assert (trees.category >= 0).any()
    Z = X.copy()
    Z[::3, 2] = 1234.0
    Z[::5, 5] = np.nan
    truth = getattr(model, trees.method)(Z)
    np.testing.assert_allclose(trees.scores(trees.encode(Z)), truth, atol=1e-12)


def categorical_frame():
    pd = pytest.importorskip("pandas")
    X, y = make_data("binary", missing=True)
    random = np.random.default_rng(3)
    town = random.choice(list("abcdefgh"), N)
    y = np.where(np.isin(town, list("bdg")), "yes", y)
    frame = pd.DataFrame(
        {
            "x": X[:, 0],
            "town": pd.Categorical(town, categories=list("hgfedcba")),
            "n": random.integers(0, 9, N),
            "size": pd.Categorical(
                random.choice([10, 20, 30], N), categories=[20, 10, 30], ordered=True
            ),
            "z": X[:, 3],
        }
    )
    frame.loc[::9, "town"] = None
    return frame, (y == "yes").astype(int)


def check_categorical_frame(model, atol):
    pd = pytest.importorskip("pandas")
    frame, y = categorical_frame()
    trees = check(model.fit(frame, y), frame, atol=atol, thresholds=False)
    assert (trees.category >= 0).any()
    other = frame.iloc[::-3].copy()
    # The same levels in another order are the same categories.
    other["town"] = pd.Categorical(other["town"], categories=list("abcdefgh"))
    truth = model.predict_proba(other)
    np.testing.assert_allclose(trees.scores(trees.encode(other)), truth, atol=atol)


def test_hist_gradient_boosting_with_categories_of_a_frame():
    model = HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5)
    check_categorical_frame(model, 1e-12)


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
        model = self.xgb.XGBClassifier(n_estimators=4, objective="multi:softmax")
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
        model = self.xgb.XGBClassifier(n_estimators=2, enable_categorical=True)
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
        model = self.xgb.XGBRegressor(n_estimators=2).fit(X, np.column_stack([y, y]))
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
            "mape",
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


def test_unsupported():
    X, y = make_data("binary")
    two = np.column_stack([X[:, 0], X[:, 1]])

    class Mine(RandomForestClassifier):
        pass

    for model, target in (
        (LogisticRegression(), y),
        (DummyClassifier(), y),
        (RandomForestRegressor(2), two),
        (DecisionTreeRegressor(), two),
        (GradientBoostingClassifier(init=LogisticRegression(), n_estimators=2), y),
        (AdaBoostClassifier(LogisticRegression(), n_estimators=2), y),
        (Mine(2), y),
    ):
        assert read_trees(model.fit(X, target)) is None


def test_frames_are_read_by_column():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y = make_data("binary", missing=True)
    names = list("abcdef")
    for frame in (
        pd.DataFrame(X, columns=names).convert_dtypes(),
        pl.DataFrame(dict(zip(names, np.nan_to_num(X).T, strict=True))),
    ):
        model = HistGradientBoostingClassifier(max_iter=5).fit(frame, y)
        check(model, frame, thresholds=False)


def test_importing_loads_no_optional_library():
    code = (
        "import sys, skcf._model._read_trees; "
        "unwanted = {'numba', 'xgboost', 'lightgbm', 'polars'}; "
        "assert not unwanted & set(sys.modules), unwanted & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
