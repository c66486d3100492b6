"""Run the contract on an explainer."""

from functools import partial

from skcf._base import BaseExplainer, GroupExplainer, ModelExplainer, TabularExplainer
from skcf.testing import _base_checks as base
from skcf.testing import _model_checks as model
from skcf.testing import _tabular_checks as tabular
from skcf.testing._setting import Setting

BASE = (
    base.check_init_sets_parameters_alone,
    base.check_nothing_is_set_outside_fit,
    base.check_refused_in_fit,
    base.check_transform_keeps_the_table,
    base.check_one_warning_with_counts,
    base.check_explanation,
    base.check_repeated_calls,
    base.check_rows_alone,
    base.check_two_jobs,
    base.check_score,
    base.check_nothing_is_printed,
    base.check_refused_calls,
    base.check_refused_columns,
    base.check_time_limit,
)
MODEL = (
    model.check_estimator_is_cloned,
    model.check_frozen_estimator,
    model.check_fit_parameters_reach_the_model,
    model.check_model_sees_the_table_of_fit,
    model.check_answers_are_valid,
    model.check_slow_model,
    model.check_regression,
)
CLASSIFIER = (
    model.check_note_without_y,
    model.check_classes,
    model.check_multi_output_is_refused,
    model.check_model_of_arrays,
    model.check_opposite,
    model.check_labels,
    model.check_unknown_targets,
    model.check_threshold,
)
TABULAR = (
    tabular.check_containers,
    tabular.check_cells_are_possible,
    tabular.check_dtypes_follow_from_schemas,
    tabular.check_rules_hold,
    tabular.check_columns_taken_together,
    tabular.check_infeasible_rows,
    tabular.check_evaluations_are_limited,
    tabular.check_cost_and_score,
    tabular.check_levels,
    tabular.check_missing_and_infinite,
    tabular.check_refused_rules,
    tabular.check_dates,
)


def check_explainer(explainer, X=None, y=None, queries=None):
    """Check that an explainer keeps the contract of all explainers.

    The contract says what users may rely on, whatever the method:

    1. fit: the estimator is cloned and fitted, a frozen one is used as it is;
       parameters are left alone, and nothing is set outside of `fit`;
    2. raw columns: the model is called on the kind of table given to `fit`, and cells
       take values that their column may have;
    3. transform: one row out for one row in, in the container, columns, order, index
       and dtypes of the query; rows that are not found come back as they are, with one
       warning that counts them;
    4. target: the opposite, a label, an interval, a threshold;
    5. validity: the model itself predicts the target for the row that is returned;
    6. rules: every answer keeps every rule;
    7. status: each row has one, and the right one;
    8. determinism: the answer of a row depends on the row alone;
    9. budget: a call with a time limit returns;
    10. score: a number between 0 and 1, on one scale whatever the cost;
    11. parallel: jobs and threads change no answer;
    12. progress and logs: nothing is printed;
    13. errors: they name the column or rule, the value and what was expected.

    An explainer is checked for the clauses of its layer: of all explainers, of those
    of a model, and of those of rows of a table.

    Read more in the :ref:`User Guide <contract>`.

    Parameters
    ----------
    explainer : explainer
        An instance. It is cloned, and never fitted itself.

    X : {ndarray, dataframe} of shape (n_samples, n_features), default=None
        Training rows for the checks that the explainer runs as it is. If None, they are
        generated, and the parameters that name columns or labels are set to their
        defaults: `target`, `constraints`, `cost`, `categorical_features` and
        `resolution`. The last step of the estimator then stands behind an encoder.
        Some checks generate their own table in any case.

    y : array-like of shape (n_samples,), default=None
        The target of the estimator.

    queries : {ndarray, dataframe} of shape (n_queries, n_features), default=None
        Rows to explain, a few; five rows of `X` if None.

    Raises
    ------
    AssertionError
        At the first clause that does not hold. The message has its number and what
        was found.

    See Also
    --------
    explainer_checks : The checks one by one.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.tabular import NearestUnlikeExplainer
    >>> from skcf.testing import check_explainer
    >>> explainer = NearestUnlikeExplainer(DecisionTreeClassifier())
    >>> check_explainer(explainer)  # doctest: +SKIP
    """
    for _, check in explainer_checks(explainer, X, y, queries):
        check()


def explainer_checks(explainer, X=None, y=None, queries=None):
    """Return the checks of the contract of an explainer, to run one by one.

    Parameters
    ----------
    explainer : explainer
        An instance. It is cloned, and never fitted itself.

    X, y, queries : default=None
        As in :func:`check_explainer`.

    Returns
    -------
    checks : list of (str, callable)
        The name of each check, and a function without arguments that runs it.

    Raises
    ------
    TypeError
        If `explainer` is no explainer.

    See Also
    --------
    check_explainer : Runs all of them.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.tabular import NearestUnlikeExplainer
    >>> from skcf.testing import explainer_checks
    >>> checks = explainer_checks(NearestUnlikeExplainer(DecisionTreeClassifier()))
    >>> checks[0][0]
    'check_init_sets_parameters_alone'
    """
    if not isinstance(explainer, BaseExplainer):
        raise TypeError(f"expected an instance of an explainer, got {explainer!r}.")
    setting = Setting.of(explainer, X, y, queries)
    checks = [*BASE]
    if isinstance(explainer, ModelExplainer):
        checks += MODEL
    if setting.is_classifier:
        checks += CLASSIFIER
    if isinstance(explainer, TabularExplainer):
        checks += TABULAR
    if isinstance(explainer, GroupExplainer):
        # What a row gets depends on the rows it comes with.
        checks.remove(base.check_rows_alone)
    return [(check.__name__, partial(check, setting)) for check in checks]
