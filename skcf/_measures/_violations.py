"""Rules that counterfactuals break."""

import numpy as np

from skcf._measures._ruler import Ruler, check_pairs, summary
from skcf.constraints import _syntax as syntax
from skcf.constraints._bind import holds
from skcf.constraints._rule_set import RuleSet


def violations(
    X,
    X_cf,
    *,
    constraints,
    reference,
    categorical_features="from_dtype",
    sample_wise=False,
):
    """Return how many rules a counterfactual breaks.

    An explainer of this library never breaks the rules that it was given: this is for
    answers of other origin, or for rules that an explainer was not given.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_pairs, n_features)
        The queries.
    X_cf : {array-like, DataFrame} of shape (n_pairs, n_features)
        Their counterfactuals, row by row.
    constraints : rule, str or list of these
        What may change, and how; see :mod:`skcf.constraints`.
    reference : {array-like, DataFrame} of shape (n_samples, n_features)
        The training rows: they have the kinds of the columns, and the combinations of
        columns that go together.
    categorical_features : "from_dtype", or names, positions or a mask
        Which columns are categories, as given to the explainer.
    sample_wise : bool, default=False
        Whether to return the number of each pair, and not their mean.

    Returns
    -------
    n_broken : float, or ndarray of shape (n_pairs,)
        0 at best, at most the number of rules; nan if there are no pairs.

    Raises
    ------
    ValueError
        If the rows are not paired, or a rule names what is not there.

    References
    ----------
    .. [1] Pawelczyk, M., Bielawski, S., van den Heuvel, J., Richter, T., Kasneci, G.
       (2021). CARLA: A Python library to benchmark algorithmic recourse and
       counterfactual explanation algorithms. doi:10.48550/arXiv.2108.00783

    Examples
    --------
    >>> from skcf.constraints import fixed, increasing
    >>> from skcf.metrics import violations
    >>> X, X_cf = [[30.0, 1.0], [40.0, 2.0]], [[29.0, 2.0], [41.0, 2.0]]
    >>> rules = [increasing(0), fixed(1)]
    >>> violations(X, X_cf, constraints=rules, reference=X)
    1.0
    """
    X, X_cf = check_pairs(X, X_cf)
    ruler = Ruler.of(reference, constraints, categorical_features)
    broken = broken_rules(ruler, *ruler.read(X, X_cf))
    return summary(broken.sum(axis=1).astype(np.float64), sample_wise)


def broken_rules(ruler, before, after):
    """Return which rules rows of codes break, of shape (n_rows, n_rules)."""
    space, rules = ruler.space, RuleSet(ruler.rules, ruler.space)
    tables = {"x": before, "cf": after}
    broken = np.zeros((len(after), len(rules)), dtype=bool)
    for part in rules.parts:
        broken[:, part.rule] |= ~holds(part.node, lambda table, j: tables[table][:, j])
    changed = ruler.changed(before, after)
    for r, rule in enumerate(rules.rules):
        match rule.tree:
            case syntax.MaxChanges(k):
                broken[:, r] |= changed.sum(axis=1) > k
            case syntax.Together(columns) | syntax.OneHot(columns):
                g = space.group_of[space.position(columns[0])]
                cells = after[:, list(space.groups[g])]
                broken[:, r] |= changed[:, g] & (space.values.find(g, cells) < 0)
    return broken
