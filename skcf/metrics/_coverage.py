"""How many rows get an answer."""


def coverage(explanation):
    """Return the share of queries that have a counterfactual.

    Queries that were in the target as they came need none and do not count.

    Parameters
    ----------
    explanation : Explanation
        What an explainer found.

    Returns
    -------
    coverage : float
        From 0 to 1, the higher the better; 1 if no query needs a counterfactual.

    References
    ----------
    .. [1] Pawelczyk, M., Bielawski, S., van den Heuvel, J., Richter, T., Kasneci, G.
       (2021). CARLA: A Python library to benchmark algorithmic recourse and
       counterfactual explanation algorithms. doi:10.48550/arXiv.2108.00783

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.metrics import coverage
    >>> from skcf.tabular import NearestUnlikeExplainer
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> explainer = NearestUnlikeExplainer(LogisticRegression()).fit(X, y)
    >>> coverage(explainer.explain(X))
    1.0
    """
    needed = explanation.status != "already"
    if not needed.any():
        return 1.0
    return float((explanation.status[needed] == "found").mean())
