"""What the change from a row to its counterfactual takes."""

from skcf._measures._ruler import Ruler, check_pairs, summary


def proximity(
    X,
    X_cf,
    *,
    reference,
    cost="gower",
    constraints=(),
    categorical_features="from_dtype",
    sample_wise=False,
):
    r"""Return how far counterfactuals are from their queries, by any cost.

    With the distance :math:`d_j` of a feature as in :class:`skcf.costs.Cost`, and
    :math:`p` features of which some columns may be one together,

    .. math::

        \mathrm{gower} &= \tfrac{1}{p} \sum_j d_j, \quad s_j = \mathrm{range} \\
        \mathrm{mace} &= \sum_j d_j, \quad s_j = \mathrm{median}|x_j| \\
        \mathrm{geco} &= \tfrac{1}{3p} \sum_j [d_j > 0] + \tfrac{1}{3p} \sum_j d_j
            + \tfrac{1}{3} \max_j d_j, \quad s_j = \mathrm{range}

    Less is better.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_pairs, n_features)
        The queries.
    X_cf : {array-like, DataFrame} of shape (n_pairs, n_features)
        Their counterfactuals, row by row.
    reference : {array-like, DataFrame} of shape (n_samples, n_features)
        The training rows, of which the units of the columns are.
    cost : Cost or {"gower", "mace", "geco", "sparse"}, default="gower"
        The distance.
    constraints : rule, str or list of these, default=()
        The rules of the explainer. Only those matter here that take columns together
        or order categories (:func:`~skcf.constraints.together`,
        :func:`~skcf.constraints.one_hot`, :func:`~skcf.constraints.ordered`).
    categorical_features : "from_dtype", or names, positions or a mask
        Which columns are categories, as given to the explainer.
    sample_wise : bool, default=False
        Whether to return the distance of each pair, and not their mean.

    Returns
    -------
    distance : float, or ndarray of shape (n_pairs,)
        nan if there are no pairs.

    Raises
    ------
    ValueError
        If the rows are not paired, the columns are not those of `reference`, or `cost`
        is unknown.

    Notes
    -----
    Yang et al. [2]_ report the negative of their distance. They divide by the median
    as it is; here a median of 0 falls back to the median absolute deviation, the
    interquartile range, the range, and 1, in this order. Schleich et al. [3]_ leave the
    weights of the three norms to the user; here they are equal.

    References
    ----------
    .. [1] Gower, J. C. (1971). A general coefficient of similarity and some of its
       properties. Biometrics, 27(4), 857-871. doi:10.2307/2528823
    .. [2] Yang, W., Li, J., Xiong, C., Hoi, S. C. H. (2022). MACE: An efficient
       model-agnostic framework for counterfactual explanation. arXiv:2205.15540
    .. [3] Schleich, M., Geng, Z., Zhang, Y., Suciu, D. (2021). GeCo: Quality
       counterfactual explanations in real time. PVLDB, 14(9), 1681-1693.
       doi:10.14778/3461535.3461555

    Examples
    --------
    >>> from skcf.metrics import proximity
    >>> X_train = [[20.0, 0.0], [40.0, 4.0], [60.0, 2.0]]
    >>> X, X_cf = [[30.0, 1.0], [40.0, 2.0]], [[20.0, 2.0], [50.0, 2.0]]
    >>> proximity(X, X_cf, reference=X_train)
    0.1875...
    >>> proximity(X, X_cf, reference=X_train, cost="mace", sample_wise=True)
    array([0.75, 0.25])
    """
    X, X_cf = check_pairs(X, X_cf)
    ruler = Ruler.of(reference, constraints, categorical_features)
    return summary(ruler.cost(cost).rows(*ruler.read(X, X_cf)), sample_wise)
