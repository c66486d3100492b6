"""Whether answers outlive another fit of the model."""

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, resample

from skcf._measures._judge import Judge
from skcf._measures._ruler import as_table, check_pairs, summary
from skcf._space import container_of
from skcf.metrics._stability import check_repeats


def refit_stability(
    X,
    X_cf,
    *,
    estimator,
    reference,
    y,
    target="opposite",
    threshold=None,
    n_repeats=10,
    random_state=None,
    sample_wise=False,
):
    r"""Return the share of refitted models by which counterfactuals reach the target.

    A clone of the model is fitted to each of :math:`r` bootstrap samples of the
    training rows, of their size and, for a classifier, with their shares of classes:

    .. math::

        \mathrm{stability} = \frac{1}{n r} \sum_i \sum_{t=1}^{r} [f_t(x'_i) \in T_i]

    An answer that only just crosses the boundary of one model often fails by the next.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_pairs, n_features)
        The queries.
    X_cf : {array-like, DataFrame} of shape (n_pairs, n_features)
        Their counterfactuals, row by row.
    estimator : object
        The model. It is cloned: whether it is fitted does not matter.
    reference : {array-like, DataFrame} of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        The target of the training rows.
    target : label, "opposite", (low, high), or array-like of one a row
        What each row was to become; see :func:`validity`. The opposite is that of the
        class that a clone fitted to all training rows predicts for the query.
    threshold : float in (0, 1], default=None
        The least probability of the target, on top of the prediction.
    n_repeats : int, default=10
        The number of bootstrap samples.
    random_state : int, RandomState instance or None, default=None
        The samples. The random state of the model is its own.
    sample_wise : bool, default=False
        Whether to return the share of each pair, and not their mean.

    Returns
    -------
    stability : float, or ndarray of shape (n_pairs,)
        From 0 to 1, the higher the better; nan if there are no pairs.

    Raises
    ------
    TypeError
        If `estimator` is frozen.
    ValueError
        If the rows are not paired, or `target` or `threshold` do not suit the model.

    See Also
    --------
    stability : Whether near queries get near answers.

    References
    ----------
    .. [1] Rawal, K., Kamar, E., Lakkaraju, H. (2020). Algorithmic recourse in the wild:
       Understanding the impact of data and model shifts. arXiv:2012.11788
    .. [2] Efron, B. (1979). Bootstrap methods: another look at the jackknife. Annals of
       Statistics, 7(1), 1-26. doi:10.1214/aos/1176344552

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skcf.metrics import refit_stability
    >>> X_train, y_train = [[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]
    >>> refit_stability(
    ...     [[0.5]], [[6.0]], estimator=KNeighborsClassifier(1), reference=X_train,
    ...     y=y_train, random_state=0,
    ... )
    1.0
    """
    X, X_cf = check_pairs(X, X_cf)
    check_repeats(n_repeats)
    if isinstance(estimator, FrozenEstimator):
        raise TypeError(
            "A FrozenEstimator cannot be refitted; pass the model inside, "
            "estimator.estimator."
        )
    reference, y = as_table(reference, "reference"), np.asarray(y)
    if not len(X):
        return summary(np.empty(0), sample_wise)
    random, everyone = check_random_state(random_state), np.arange(len(X))
    judge = Judge(clone(estimator).fit(reference, y), X, target, threshold)
    told = np.zeros(len(X))
    for _ in range(n_repeats):
        drawn = resample(
            np.arange(len(y)),
            random_state=random,
            stratify=y if is_classifier(estimator) else None,
        )
        sample = container_of(reference).take(reference, drawn)
        judge.estimator = clone(estimator).fit(sample, y[drawn])
        told += judge.reached(X_cf, everyone)
    return summary(told / n_repeats, sample_wise)
