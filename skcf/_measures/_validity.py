"""Whether the model decides otherwise."""

import numpy as np

from skcf._measures._judge import Judge
from skcf._measures._ruler import check_pairs, summary


def validity(
    X, X_cf, *, estimator, target="opposite", threshold=None, sample_wise=False
):
    r"""Return the share of counterfactuals that reach the target.

    .. math::

        \mathrm{validity} = \frac{1}{n} \sum_i [f(x'_i) \in T_i]

    The model is asked about the rows as they are. A row that a `transform` returned
    unchanged for want of an answer thus counts as not valid, unless it was in the
    target as it came.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_pairs, n_features)
        The queries.
    X_cf : {array-like, DataFrame} of shape (n_pairs, n_features)
        Their counterfactuals, row by row.
    estimator : object
        The fitted model.
    target : label, "opposite", (low, high), or array-like of one a row
        What each row was to become: a label; any class but the one predicted for the
        query; the interval of a regressor, None for an open end.
    threshold : float in (0, 1], default=None
        The least probability of the target, on top of the prediction.
    sample_wise : bool, default=False
        Whether to return a boolean for each pair, and not their share.

    Returns
    -------
    validity : float, or ndarray of bool of shape (n_pairs,)
        From 0 to 1, the higher the better; nan if there are no pairs.

    Raises
    ------
    ValueError
        If the rows are not paired, or `target` or `threshold` do not suit the model.

    References
    ----------
    .. [1] Mothilal, R. K., Sharma, A., Tan, C. (2020). Explaining machine learning
       classifiers through diverse counterfactual explanations. FAT*, 607-617.
       doi:10.1145/3351095.3372850

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.metrics import validity
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
    >>> validity([[1.0], [2.0]], [[3.0], [2.25]], estimator=model)
    0.5
    """
    X, X_cf = check_pairs(X, X_cf)
    judge = Judge(estimator, X, target, threshold)
    return summary(judge.reached(X_cf, np.arange(len(X))), sample_wise)
